"""Repositories of different stores in one storage namespace: only one of them owns it, and deletes anything there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations, count
from pathlib import Path

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Blobs, BlobStores, Foreign
from graveler_core.engine.repositories import creation, migration
from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.errors import Conflict, CorruptData, Kind, NotUnique, OutcomeUnknown, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Thing
from graveler_core.gc.namespaces import NamespaceState
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.address import Namespace
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, RepositoryId, RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.testing.counting_blobs import CountingBlobs, Fault
from tests.examples import places
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

AT_ONCE = timedelta(0)
NAME = RepositoryId("repo")


@dataclass
class Stepped:
    """Object stores at whose every call something may happen: `step` gets the verb and the address."""

    inner: BlobStores
    step: Fault

    def at(self, namespace: str) -> Blobs:
        return CountingBlobs(self.inner.at(namespace), self.step)

    def foreign(self, place: Namespace) -> Foreign:
        return self.inner.foreign(place)


def another(world: World) -> World:
    """Another store over the same objects."""
    return replace(world, kv=open_memory("memory://"))


def files(world: World) -> list[str]:
    """Owners of the namespace `data`."""
    return sorted(owner_files.owners(world.blobs.at(world.namespace())))


def created(world: World, *, adopt: bool = False, blobs: BlobStores | None = None) -> Repository | None:
    """The repository, or nothing if the namespace is in use."""
    there = world if blobs is None else replace(world, blobs=blobs)  # type: ignore[arg-type]
    try:
        return there.graveler().create_repository("repo", world.namespace(), adopt=adopt)
    except NotUnique as e:
        if e.kind is not Kind.NamespaceInUse:
            raise
        return None


def test_the_second_store_is_refused() -> None:
    world = World()
    first, there = created(world), another(world)
    assert first is not None
    for create in (there.graveler().create_repository, there.graveler().create_bare_repository):
        with pytest.raises(NotUnique, match=rf"repository {first.uid} of another store .*--adopt \(adopt=True\)"):
            create("other", world.namespace())
    assert not list(there.kv.scan(keys.GRAVELER))
    assert files(world) == [first.uid]


class Turns:
    """Two threads, each of which works from one of its calls to the next when it is its turn.

    Once the order is used up, they run on one after the other.
    """

    def __init__(self, order: list[bool]) -> None:
        self.order = order
        self.ended = {False: False, True: False}
        self.working: bool | None = None
        self.changed = threading.Condition()

    def take(self, who: bool) -> None:
        """End the last turn of a thread, and wait for the next one."""
        with self.changed:
            self._give_up(who)
            assert self.changed.wait_for(lambda: self.working is None and self._next() is who, timeout=60)
            self.working = who
            if self.order:
                self.order.pop(0)

    def end(self, who: bool) -> None:
        """End the last turn of a thread for good."""
        with self.changed:
            self.ended[who] = True
            self._give_up(who)

    def _give_up(self, who: bool) -> None:
        if self.working is who:
            self.working = None
        self.changed.notify_all()

    def _next(self) -> bool:
        while self.order and self.ended[self.order[0]]:
            self.order.pop(0)
        return self.order[0] if self.order else self.ended[False]


def orders(calls: int = 5) -> Iterator[list[bool]]:
    """Orders of the calls of two threads: all of them, or some in the shorter tiers."""
    every = list(combinations(range(2 * calls), calls))
    for at in places(len(every)):
        yield [turn not in every[at] for turn in range(2 * calls)]


@pytest.mark.parametrize("adopt", [(False, False), (False, True), (True, True)])
def test_of_two_creations_at_once_one_at_most_owns_the_namespace(adopt: tuple[bool, bool]) -> None:
    """In every order of their calls of the object store."""
    outcomes = set[tuple[bool, bool]]()
    for order in orders():
        world = World()
        worlds, turns = (world, another(world)), Turns(list(order))
        made = dict[bool, Repository | None]()

        def create(who: bool, worlds=worlds, turns=turns, made=made) -> None:  # type: ignore[no-untyped-def]
            blobs = Stepped(worlds[who].blobs, lambda verb, address: turns.take(who))
            try:
                made[who] = created(worlds[who], adopt=adopt[who], blobs=blobs)
            finally:
                turns.end(who)

        threads = [threading.Thread(target=create, args=(who,)) for who in (False, True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        outcomes.add((made[False] is not None, made[True] is not None))
        uids = {one.uid for one in made.values() if one is not None}
        # A takeover ends the ownership of the other one, which may not notice. Two of them may end both.
        assert {*files(world)} <= uids, order
        assert len(files(world)) == 1 or True in adopt or not uids, order
        assert len(uids) < 2 or True in adopt, order
        assert len(files(world)) < 2, order
    assert {(True, False), (False, True)} & outcomes
    assert ((True, True) in outcomes) is (True in adopt)


def others_before(at: int, act: Callable[[], object]) -> Fault:
    """Return the fault of a store that lets others act before a call."""
    calls = count()

    def fault(verb: str, address: str) -> None:
        if next(calls) == at:
            act()

    return fault


def failing(at: int, error: Callable[[], BaseException], seen: list[str]) -> Fault:
    """Return the fault of a store that fails once, instead of a call."""

    def fault(verb: str, address: str) -> BaseException | None:
        seen.append(verb)
        return error() if len(seen) == at + 1 else None

    return fault


def test_a_creation_that_fails_leaves_no_owner() -> None:
    """Instead of each call of the object store."""
    for at in range(20):
        world, seen = World(), list[str]()
        blobs = Stepped(world.blobs, failing(at, lambda: Unavailable("the store is away"), seen))
        with suppress(Unavailable):
            created(world, blobs=blobs)
        if len(seen) <= at:
            break
        assert files(world) == []
        assert not list(world.kv.scan(keys.GRAVELER))
        assert created(another(world)) is not None
    assert at > 1


def test_an_owner_that_cannot_be_deleted_is_left_to_the_cleaner() -> None:
    world = World()
    faults = iter([None, Unavailable("away"), Unavailable("away")])
    with pytest.raises(Unavailable):
        created(world, blobs=Stepped(world.blobs, lambda verb, address: next(faults)))
    assert len(files(world)) == 1
    assert created(another(world)) is None
    cleaned(world)
    assert files(world) == []
    assert created(another(world)) is not None


def cleaned(world: World) -> None:
    """What crashed creations have left is cleaned, with the grace periods."""
    for _ in range(3):
        world.clock.time += timedelta(minutes=11)
        world.graveler().clean()


@pytest.mark.parametrize("calls_of", ["records", "objects"])
def test_a_creation_that_crashes_leaves_no_owner_after_the_cleaner(calls_of: str) -> None:
    for at in range(40):
        world, seen = World(), list[str]()
        kv = Interposed(world.kv)
        if calls_of == "records":
            kv.fail[at] = Crash()
        blobs = Stepped(world.blobs, failing(at if calls_of == "objects" else -1, Crash, seen))
        stores = replace(world.stores(kv), blobs=blobs)
        with suppress(Crash):
            creation.create_repository(stores, NewRepository(NAME, world.namespace(), BranchId("main")))
        if len(kv.verbs if calls_of == "records" else seen) <= at:
            break
        cleaned(world)
        assert files(world) == []
        assert created(another(world)) is not None
    assert at > 1


@pytest.mark.parametrize("failure", ["lost request", "object store away", "key-value store away"])
def test_a_creation_that_is_cleaned_meanwhile_and_then_fails_leaves_no_owner(failure: str) -> None:
    """Cleaners remove what it has written before one of its calls, and one of the later calls fails."""
    failed = 0
    for pause, at in combinations(range(14), 2):
        world = World()
        kv, blobs = Interposed(world.kv), world.blobs
        kv.before[pause] = partial(cleaned, world)
        match failure:
            case "lost request":
                kv.lose[at] = False
            case "object store away":
                calls = range(at - pause - 1, at - pause + 1)  # also the deletion that follows
                faults = (Unavailable("away") if number in calls else None for number in count())
                blobs = Stepped(world.blobs, lambda verb, address, faults=faults: next(faults))  # type: ignore[misc, assignment]
            case _:
                kv.fail[at] = Unavailable("away")
        stores = replace(world.stores(kv), blobs=blobs)
        with suppress(Conflict):
            try:
                creation.create_repository(stores, NewRepository(NAME, world.namespace(), BranchId("main")))
                continue
            except (Unavailable, OutcomeUnknown):
                failed += 1
        cleaned(world)
        assert files(world) == [], (pause, at, kv.verbs)
        assert created(another(world)) is not None
    assert failed > 4


def lake(world: World, root: Path) -> Repository:
    """A repository with content that is due, and with files that nothing names."""
    repo = world.graveler().create_repository("repo", root.as_uri())
    main = repo.branch("main")
    main.put_many({f"{'x' * 200}/{number:04}": b"" for number in range(900)})
    main.put("lost", b"lost")
    main.commit("many")
    main.put("lost", b"other")
    main.compact()
    return repo


@pytest.fixture
def world() -> World:
    """One whose objects may be files."""
    return World(blobs=OpenedBlobs(durable=False))


def objects(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_repository_whose_namespace_was_taken_over_deletes_nothing(world: World, tmp_path: Path) -> None:
    repo = lake(world, tmp_path)
    there = another(world)
    other = there.graveler().create_repository("other", tmp_path.as_uri(), adopt=True)
    world.clock.time = datetime.now(UTC) + timedelta(days=30)
    before = objects(tmp_path)
    assert owner_files.address(repo.uid) not in before
    for act in (repo.collect, repo.sweep):
        for _ in range(2):
            with pytest.raises(CorruptData, match=f"repository {other.uid} of another store"):
                act(grace=AT_ONCE, alone=True)
    assert [(f.thing, f.damage) for f in repo.fsck() if other.uid in f.why] == [(Thing.NAMESPACE, True)]
    assert objects(tmp_path) == before
    assert not [f for f in other.fsck() if f.thing is Thing.NAMESPACE]
    other.collect(grace=AT_ONCE, alone=True)
    assert before - objects(tmp_path)


def test_a_namespace_is_given_back_by_deleting_the_owner_file(world: World, tmp_path: Path) -> None:
    repo, there = lake(world, tmp_path), another(world)
    other = there.graveler().create_repository("other", tmp_path.as_uri(), adopt=True)
    (tmp_path / owner_files.address(RepositoryUid(other.uid))).unlink()
    repo.collect()
    with pytest.raises(CorruptData, match=f"repository {repo.uid} of another store"):
        other.collect()
    there.graveler().delete_repository("other")
    there.clock.time = datetime.now(UTC) + timedelta(days=30)
    there.graveler().clean()
    before = objects(tmp_path)
    (done,) = there.graveler().empty_namespaces(grace=AT_ONCE, alone=True)
    assert (done.state, objects(tmp_path)) == (NamespaceState.OWNED, before)


def test_old_repositories_get_an_owner_file_with_their_first_collection(world: World, tmp_path: Path) -> None:
    repo = lake(world, tmp_path)
    file = tmp_path / owner_files.address(RepositoryUid(repo.uid))
    for act in (repo.collect, repo.sweep):
        file.unlink()
        act(dry_run=True)
        assert not file.exists()
        assert not [finding for finding in repo.fsck() if finding.damage]
        act()
        assert file.exists()
    assert not [finding for finding in repo.fsck() if finding.damage or finding.id.startswith(owner_files.PREFIX)]


def test_one_of_two_old_repositories_at_most_holds_the_namespace() -> None:
    """The second one looks before each call of the first one."""
    held = set[tuple[bool, bool]]()
    one, two = record("one"), record("two")
    for at in range(6):
        world = World()
        blobs, told = world.blobs.at(world.namespace()), list[bool]()
        blobs.create("_graveler/tree", b"")
        act = partial(lambda told, blobs: told.append(not owner_files.hold(blobs, two)), told, blobs)
        mine = not owner_files.hold(CountingBlobs(blobs, others_before(at, act)), one)
        if told:
            held.add((mine, told[0]))
            assert len(files(world)) == 1
    assert held == {(True, False), (False, True)}


def record(name: str) -> RepositoryRecord:
    """The record of a repository whose uid is its name."""
    world = World()
    world.graveler().create_repository(name, world.namespace())
    found = repositories.find(world.kv, RepositoryId(name))
    assert found is not None
    return found.value.model_copy(update={"uid": RepositoryUid(name)})


def begun(world: World, *, adopt: bool, blobs: BlobStores | None = None) -> RepositoryRecord:
    """The record of a migration that has begun."""
    wanted = NewRepository(NAME, world.namespace(), BranchId("main"), adopt=adopt, migrating="d1", boundary_seed=7)
    stores = world.stores() if blobs is None else replace(world.stores(), blobs=blobs)
    return migration.begin_migration(stores, wanted).value


def test_a_migration_takes_the_namespace_over_only_on_request() -> None:
    world = World()
    first = created(another(world))
    assert first is not None
    with pytest.raises(NotUnique, match=rf"repository {first.uid} of another store .*--adopt \(adopt=True\)"):
        begun(world, adopt=False)
    assert files(world) == [first.uid]
    assert not list(world.kv.scan(keys.GRAVELER))
    for _ in range(2):
        mine = begun(world, adopt=True)
        assert files(world) == [mine.uid]


@pytest.mark.parametrize("adopt", [False, True])
def test_a_migration_that_crashes_at_its_first_files_goes_on(adopt: bool) -> None:
    for at in range(20):
        world, seen = World(), list[str]()
        with suppress(Crash):
            begun(world, adopt=adopt, blobs=Stepped(world.blobs, failing(at, Crash, seen)))
        held = repositories.find(world.kv, NAME)
        assert held is not None
        assert begun(world, adopt=adopt).uid == held.value.uid
        assert files(world) == [held.value.uid]
        if len(seen) <= at:
            break
    assert at > 1


def test_the_owner_of_a_removed_repository_of_this_store_is_no_hindrance() -> None:
    world = World()
    assert created(world) is not None
    world.graveler().delete_repository("repo")
    world.clock.time += timedelta(days=30)
    world.graveler().clean()
    assert created(another(world)) is None
    new = created(world)
    assert new is not None
    assert files(world) == [new.uid]


def test_nothing_is_written_to_the_mount_point_of_a_volume(tmp_path: Path) -> None:
    """Neither by a process that has used the volume before, nor by a new one."""
    volume, away = tmp_path / "volume", tmp_path / "away"
    world = World(blobs=OpenedBlobs(durable=False))
    repo = world.graveler().create_repository("repo", volume.as_uri())
    repo.branch("main").put("a", b"before")
    volume.rename(away)
    for place in ("missing", "empty"):
        if place == "empty":
            volume.mkdir()
        for user in (world, replace(world, blobs=OpenedBlobs(durable=False))):
            there = user.graveler().repository("repo")
            with pytest.raises(Unavailable, match=f"directory {volume} .* may not be mounted") as caught:
                there.branch("main").put("a", b"lost")
            assert caught.value.kind is Kind.BucketNotFound
            for work in (there.sweep, there.collect):
                with pytest.raises((Unavailable, CorruptData)):
                    work(grace=AT_ONCE, alone=True)  # type: ignore[operator]
            assert not volume.exists() or not list(volume.iterdir())
    volume.rmdir()
    away.rename(volume)
    there = world.graveler().repository("repo")
    assert there.branch("main").read("a") == b"before"
    there.branch("main").put("b", b"after")
    assert there.branch("main").read("b") == b"after"
    there.sweep(grace=AT_ONCE, alone=True)
