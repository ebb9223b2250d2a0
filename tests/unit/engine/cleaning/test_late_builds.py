"""Builds whose repository is deleted and emptied meanwhile write nothing into its partitions any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest

from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.committed.cache import TreeCache
from graveler_core.errors import NoChanges, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.address import Namespace
from graveler_core.records import layout as keys
from graveler_core.stores import Hook, Hooks
from graveler_core.stores.registers import RegisterCache
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.cleaning.places import cleaned
from tests.unit.engine.flows import FLOWS, Flow, prepared, table
from tests.unit.engine.world import World, entry

T = TypeVar("T")
BUILDS: dict[str, Flow] = {
    **{name: FLOWS[name] for name in ("commit", "empty commit", "merge", "squash", "merge repeated", "compact")},
    "commit without effect": lambda w, g: without_effect(g),
    "cherry-pick": lambda w, g: g.repository("repo").cherry_pick("dev", "clean", message="picked"),
    "transplant": lambda w, g: g.repository("repo").transplant(["dev~1", "dev"], "one"),
}
NO_HOOK = Hook("none", lambda request, repository: None, ("pre-commit", "pre-merge"))


def without_effect(graveler: Graveler) -> None:
    with pytest.raises(NoChanges):
        graveler.repository("repo").branch("same").commit("m")


@dataclass
class Process:
    """A process between whose reads others act once. Its copies of records grow old by the clock of the world.

    Its store writes the records of a commit before the swap. Of trees, nothing is in memory.
    """

    world: World
    act: Callable[[], object] = lambda: None
    at: int = 0
    """Number of the read before which the others act, of a record or an object."""
    reads: int = 0

    def run(self, build: str, *, hooked: bool) -> None:
        """Run a build, which may find that the repository is gone."""
        stores = replace(
            self.world.stores(Watched(PlainStore(self.world.kv), self)),
            blobs=WatchedPlaces(self),
            hooks=Hooks(functions=(NO_HOOK,)) if hooked else Hooks(),
            ranges=TreeCache(),
            registers=RegisterCache(now=self.world.clock.monotonic),
        )
        with suppress(NotFound):
            BUILDS[build](self.world, Graveler(stores))

    def read(self) -> None:
        self.reads += 1
        if self.reads == self.at:
            self.act()


class Watched(Passing):
    """The records, as the process sees them."""

    def __init__(self, inner: PlainStore, process: Process) -> None:
        super().__init__(inner)
        self._process = process

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        if not call.writes:
            self._process.read()
        return work()


@dataclass
class WatchedPlaces:
    """The objects, as the process sees them."""

    process: Process

    def at(self, namespace: str) -> Blobs:
        return CountingBlobs(self.process.world.blobs.at(namespace), self._note)

    def foreign(self, place: Namespace) -> Foreign:
        return self.process.world.blobs.foreign(place)

    def _note(self, verb: str, address: str) -> None:
        if verb.startswith("read"):
            self.process.read()


@pytest.fixture(scope="module")
def start() -> World:
    """A world whose branch `dev` has commits with objects of their own, and `same` a staged entry of its head."""
    world = prepared()
    dev = world.branch(name="dev")
    for number in range(2):
        dev.stage_many(table({f"{number}/{n}": n for n in range(12)}))
        dev.commit(str(number))
    same = world.graveler().repository("repo").create_branch("same", "dev")
    same.stage("x", entry(1))
    world.branch(name="one").commit("one")
    return world


STEP = 5
"""Each tried read costs a build."""
CASES = [(build, False) for build in BUILDS] + [("commit", True), ("merge", True)]


@pytest.mark.parametrize(("build", "hooked"), CASES)
def test_nothing_is_left_by_a_build_of_a_repository_that_is_emptied_meanwhile(
    start: World, build: str, hooked: bool
) -> None:
    undisturbed = Process(start.fork())
    undisturbed.run(build, hooked=hooked)
    left = {}
    for number in range(1, undisturbed.reads + 1, STEP):
        world = start.fork()
        repo = world.graveler().repository("repo")._record

        def emptied(world: World = world) -> None:
            world.graveler().delete_repository("repo")
            assert cleaned(world).repositories == 1

        disturbed = Process(world, emptied, number)
        disturbed.run(build, hooked=hooked)
        assert disturbed.reads >= number
        if found := [row.key for row in world.kv.scan(keys.partition(repo))]:
            left[number] = found
    assert not left
