"""A process is suspended at any call of a flow, and wakes up after a sweep has deleted the files that were young."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar
from unittest.mock import patch

import pytest

from graveler_core.committed.cache import TreeCache
from graveler_core.engine.references.events import fold
from graveler_core.engine.references.trimming import trim
from graveler_core.errors import CorruptData, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.sweep import GRACE, LEAST_GRACE, sweep
from graveler_core.kv.store import Item, Predicate
from graveler_core.model.clock import CLOCKS_DIFFER
from graveler_core.model.operations import Put
from graveler_core.objects import build_time
from graveler_core.objects.build_time import BUILT_WITHIN
from graveler_core.objects.kept_blobs import FRESH
from graveler_core.stores import Stores
from tests.unit.engine.interposed import WRITES, Interposed
from tests.unit.engine.world import FakeClock, entry
from tests.unit.gc.places import Place, create

T = TypeVar("T")
Flow: TypeAlias = Callable[[Stores], object]


def test_the_shortest_grace_period_covers_two_builds() -> None:
    """The condition of the proof in `gc.sweep`."""
    assert 2 * BUILT_WITHIN + FRESH + CLOCKS_DIFFER < LEAST_GRACE


def filled(root: Path) -> Place:
    """A repository with two branches of many small commits, and staged changes on a third."""
    place = create(root)
    place.world.clock.time = datetime.now(UTC)
    main = place.main()
    for number in range(10):
        main.stage(f"a/{number}", entry(number))
    main.commit("first")
    for name in ("dev", "work"):
        place.handle.create_branch(name, "main")
    for number in range(4):
        place.handle.create_tag(f"v{number}", "main")
        fold(place.stores, place.repo)
    for change in range(2):
        for name in ("main", "dev"):
            for number in range(12):
                place.handle.branch(name).stage(f"{name}/{change}/{number}", entry(number))
            place.handle.branch(name).commit(f"{name} {change}")
    for number in range(40):
        place.handle.branch("work").stage(f"w/{number}", entry(number))
    source = root.parent / "source"
    source.mkdir()
    for number in range(8):
        (source / f"{number}").write_bytes(b"%d" % number)
    return place


def commit(stores: Stores) -> object:
    return Graveler(stores).repository("repo").branch("work").commit("late")


def compact(stores: Stores) -> object:
    return Graveler(stores).repository("repo").branch("work").compact()


def transact(stores: Stores) -> object:
    puts = [Put(f"t/{number}", entry(number)) for number in range(20)]
    return Graveler(stores).repository("repo").branch("main").transact(puts, message="late")


def merge(stores: Stores) -> object:
    return Graveler(stores).repository("repo").merge("dev", into="main")


def replay(stores: Stores) -> object:
    return Graveler(stores).repository("repo").merge("dev", into="main", replay=True)


def transplant(stores: Stores) -> object:
    return Graveler(stores).repository("repo").transplant(["dev~1", "dev"], "main")


def trim_log(stores: Stores) -> object:
    return trim(stores, Graveler(stores).repository("repo")._record, 1)


def import_files(stores: Stores) -> object:
    repo = Graveler(stores).repository("repo")
    source = Path(repo._record.storage_namespace.removeprefix("file://")).parent / "source"
    return repo.import_prefix(source.as_uri(), into="main", destination="i/")


FLOWS = [commit, compact, transact, merge, replay, transplant, trim_log, import_files]


class Looked(FakeClock):
    """A clock into which a test steps before one of the looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.before: dict[int, Callable[[], object]] = {}

    def now(self) -> datetime:
        act = self.before.pop(self.looks, None)
        self.looks += 1
        if act is not None:
            act()
        return super().now()


class Read(Interposed):
    """A store into which a test steps before requests that read. A write may be under way during the suspension."""

    def _step(self, verb: str, call: Callable[[], T]) -> T:
        if verb in WRITES:
            self.before.pop(len(self.verbs), None)
        return super()._step(verb, call)


class Plain(Read):
    """A store without transactions."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        self.set_many(items)
        return self.set_if(*swapped, predicate)


class Suspended:
    """Copies of a repository, in each of which a flow is suspended in another step."""

    def __init__(self, template: Place) -> None:
        self.template = template
        self.saved = template.root.with_name("saved")
        shutil.copytree(template.root, self.saved)

    def run(self, flow: Flow, kv: type[Read], **step: int) -> tuple[bool, bool]:
        """Return true if the flow has so many steps, and true if it was refused."""
        root, clock = self.template.root, Looked()
        shutil.rmtree(root)
        shutil.copytree(self.saved, root)
        place = Place(root, replace(self.template.world.fork(), clock=clock, ranges=TreeCache()))
        clock.time = self.template.world.clock.time
        store = kv(place.world.kv)
        suspend, refused = partial(sleep_and_sweep, place), True
        if "call" in step:
            store.before[step["call"]] = suspend
        else:
            clock.before[step["look"]] = suspend
        with suppress(SlowDown, CorruptData):  # an import reads files that it has written
            flow(place.world.stores(store))
            refused = False
        reached = not store.before and not clock.before
        check(place)
        return reached, refused


def sleep_and_sweep(place: Place) -> None:
    place.world.clock.time += GRACE + timedelta(days=1)
    sweep(place.stores, place.repo)


def check(place: Place) -> None:
    """Find no damage with empty caches."""
    found = Place(place.root, replace(place.world, ranges=TreeCache()))
    assert not found.damage()


@pytest.mark.parametrize(("kv", "step"), [(Read, "look"), (Plain, "call")])
@pytest.mark.parametrize("flow", FLOWS)
def test_a_suspended_flow_refers_to_no_deleted_file(tmp_path: Path, flow: Flow, kv: type[Read], step: str) -> None:
    suspended, outcomes = Suspended(filled(tmp_path / "repo")), list[bool]()
    while (ran := suspended.run(flow, kv, **{step: len(outcomes)}))[0]:
        outcomes.append(ran[1])
    assert set(outcomes) == {True, False}


@pytest.mark.parametrize("flow", FLOWS)
def test_without_the_limit_files_are_missing(tmp_path: Path, flow: Flow) -> None:
    """The test above can fail."""
    suspended = Suspended(filled(tmp_path / "repo"))

    def run() -> None:
        for look in range(1_000):
            suspended.run(flow, Read, look=look)

    with patch.object(build_time, "_is_late", lambda *_: False), pytest.raises((AssertionError, CorruptData)):
        run()
