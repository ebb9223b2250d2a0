"""The namespaces of removed repositories are emptied, except for what other repositories name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import BlobInfo, Blobs
from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    InvalidInput,
    Kind,
    NotFound,
    NotUnique,
    Unavailable,
)
from graveler_core.facade.graveler import Graveler
from graveler_core.gc import namespaces, object_listing
from graveler_core.gc.all_repositories import all_repositories
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.findings import Trouble
from graveler_core.gc.namespaces import EmptiedNamespace, NamespaceState, empty_namespaces
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.examples import places
from tests.unit.engine.gone_buckets import WithoutBucket
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.engine.world import World

NOW = CollectionPlan(timedelta(0), alone=True)
OLD, OTHER = "old", "other"


class Lake:
    """A removed repository, whose objects are files, and another one that exists."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.world = World(blobs=OpenedBlobs(durable=False))
        self.world.clock.time = datetime.now(UTC) + timedelta(seconds=1)
        g = self.graveler
        other = g.create_repository(OTHER, (root / OTHER).as_uri()).branch("main")
        other.put("mine", b"mine")
        other.commit("mine")
        main = g.create_repository(OLD, self.uri).branch("main")
        rows = {f"file/{number:03}": b"%d" % number for number in range(40)}
        entries = main.put_many(rows)
        main.commit("forty files")
        main.put("staged", b"staged")
        self.entry = entries[0]
        g.delete_repository(OLD)
        self.world.clock.time += timedelta(days=8)
        assert g.clean().repositories == 1

    @property
    def uri(self) -> str:
        return (self.root / OLD).as_uri()

    @property
    def graveler(self) -> Graveler:
        return self.world.graveler()

    @property
    def full(self) -> Entry:
        """The entry of an object of the removed repository, with a full address."""
        return Entry(f"{self.uri}/{self.entry.address}", self.entry.size, address_type=AddressType.FULL)

    @property
    def objects(self) -> set[str]:
        """All files except those of owners."""
        root = self.root / OLD
        files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        return {file for file in files if not file.startswith(owner_files.PREFIX)}

    @property
    def owners(self) -> set[str]:
        return set(owner_files.owners(self.world.blobs.at(self.uri)))

    def empty(self, plan: CollectionPlan | None = None, kv: Interposed | None = None) -> EmptiedNamespace | None:
        return next(iter(empty_namespaces(self.world.stores(kv), plan)), None)

    def state(self, plan: CollectionPlan | None = None, kv: Interposed | None = None) -> NamespaceState | None:
        found = self.empty(plan, kv)
        return None if found is None else found.state

    def sleep(self, time: timedelta = GRACE) -> None:
        self.world.clock.time += time

    def missing(self) -> list[str]:
        """What the other repository shows and cannot be read."""
        missing = []
        main = self.graveler.repository(OTHER).branch("main")
        for found in main.list():
            try:
                main.read(found.path)
            except NotFound:
                missing.append(found.path)
        return missing


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize("wrong", range(2))
def test_a_grace_period_that_a_clock_far_ahead_began_begins_again(lake: Lake, wrong: int) -> None:
    """Else the namespace could not be used until that time."""
    for step, state in enumerate((NamespaceState.EMPTYING, NamespaceState.EMPTIED)):
        ahead = timedelta(days=365 if step == wrong else 0)
        lake.sleep(ahead)
        assert lake.state() is state
        lake.sleep(-ahead)
        found = lake.empty()
        assert found is not None
        assert found.due is not None
        assert (found.state, found.due <= lake.world.clock.now() + GRACE) == (state, True)
        lake.sleep()
    assert lake.state() is NamespaceState.RELEASED


@pytest.mark.parametrize("written_later", [False, True])
def test_memory_holds_pages_of_the_listing_only_for_a_moment(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, written_later: bool
) -> None:
    """Of the other objects, it holds addresses and sizes as columns."""
    monkeypatch.setattr(object_listing, "_PAGE", 7)
    held, most = 0, 0

    class Counted(BlobInfo):
        """Listed object. `held` is the number of those that exist."""

        def __init__(self, info: BlobInfo) -> None:
            nonlocal held, most
            super().__init__(info.address, info.size, info.etag, info.mtime)
            held += 1
            most = max(most, held)

        def __del__(self) -> None:
            nonlocal held
            held -= 1

    class Listing(PassingBlobs):
        def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
            return map(Counted, self.beneath.list(prefix, after))

    if written_later:
        last = lake.root / OLD / max(name for name in lake.objects if name.startswith("data/"))
        later = (lake.world.clock.time + timedelta(days=2)).timestamp()
        os.utime(last, (later, later))
    opened = lake.world.blobs
    with monkeypatch.context() as patch:
        patch.setattr(opened, "at", partial(lambda at, uri: Listing(at(uri)), opened.at))
        assert lake.state(NOW) is (NamespaceState.WRITTEN if written_later else NamespaceState.RELEASED)
    assert bool(lake.objects) is written_later
    assert 7 <= most < 3 * 7


def test_nothing_is_left_after_three_graces(lake: Lake) -> None:
    before = len(lake.objects)
    assert before > 41
    first = lake.empty()
    assert first is not None
    assert (first.state, first.repository, first.deleted) == (NamespaceState.EMPTYING, OLD, 0)
    assert first.due is not None
    lake.sleep(GRACE - timedelta(minutes=1))
    assert (lake.state(), len(lake.objects)) == (NamespaceState.EMPTYING, before)
    lake.sleep(timedelta(minutes=1))
    second = lake.empty()
    assert second is not None
    assert (second.state, second.deleted, len(lake.objects)) == (NamespaceState.EMPTIED, before, 0)
    assert (lake.state(), len(lake.owners)) == (NamespaceState.EMPTIED, 1)
    lake.sleep()
    assert (lake.state(), len(lake.owners)) == (NamespaceState.RELEASED, 0)
    assert lake.empty() is None
    lake.graveler.create_repository("new", lake.uri).branch("main").put("x", b"x")


def test_at_once_if_alone(lake: Lake) -> None:
    (done,) = lake.graveler.empty_namespaces(grace=timedelta(0), alone=True)
    assert (done.state, len(lake.objects), len(lake.owners)) == (NamespaceState.RELEASED, 0, 0)
    assert not lake.graveler.empty_namespaces()
    assert not lake.missing()


def test_a_dry_run_measures_and_changes_nothing(lake: Lake) -> None:
    before = lake.objects
    for _ in range(2):
        done = lake.empty(CollectionPlan(dry_run=True))
        assert done is not None
        assert (done.deleted, done.named, lake.objects) == (len(before), 0, before)
        lake.empty()


def test_nobody_uses_the_namespace_meanwhile(lake: Lake) -> None:
    g = lake.graveler
    lake.empty()
    for _ in range(2):
        with pytest.raises(NotUnique, match="is being emptied of the content of a deleted repository") as refused:
            g.create_repository("new", lake.uri, adopt=True)
        assert refused.value.kind is Kind.NamespaceInUse
        with pytest.raises(Conflict, match="is being emptied") as conflict:
            g.repository(OTHER).branch("main").stage("x", lake.full)
        assert conflict.value.kind is Kind.ContentCollected
        with pytest.raises(InvalidInput, match="storage namespace"):
            g.repository(OTHER).import_prefix(lake.uri + "/data/", into="main")
        assert g.clean().claims == 0
        lake.sleep()
        lake.empty()
    assert not list(g.repository(OTHER).fsck())


def test_what_another_repository_names_stays(lake: Lake) -> None:
    other = lake.graveler.repository(OTHER)
    other.branch("main").stage("x", lake.full)
    other.branch("main").commit("names the content of a removed repository")
    lake.graveler.delete_repository(OTHER)
    for state in [NamespaceState.EMPTYING] * 3:
        assert lake.state() is state
        lake.sleep()
    lake.graveler.undelete_repository(OTHER)
    assert lake.objects == {lake.entry.address}
    assert lake.graveler.repository(OTHER).branch("main").read("x") == b"0"
    lake.graveler.delete_repository(OTHER)
    lake.sleep()
    lake.graveler.clean()
    states = {done.uri: done.state for done in empty_namespaces(lake.world.stores(), NOW)}
    assert states == dict.fromkeys([lake.uri, (lake.root / OTHER).as_uri()], NamespaceState.RELEASED)
    assert not lake.objects


def two_abandoned(lake: Lake) -> str:
    """Remove the other repository as well. Return its namespace."""
    lake.graveler.delete_repository(OTHER)
    lake.world.clock.time += timedelta(days=8)
    assert lake.graveler.clean().repositories == 1
    return (lake.root / OTHER).as_uri()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_namespace_in_a_deleted_bucket_counts_as_empty(lake: Lake, is_first: bool) -> None:
    uris = sorted([two_abandoned(lake), lake.uri])
    gone = uris[0 if is_first else 1]
    stores = replace(lake.world.stores(), blobs=WithoutBucket(lake.world.blobs, gone))
    found = {done.uri: (done.state, done.deleted > 0) for done in empty_namespaces(stores, NOW)}
    assert found == {uri: (NamespaceState.RELEASED, uri != gone) for uri in uris}
    assert not list(empty_namespaces(stores, NOW))


def test_an_error_in_one_namespace_is_raised_after_the_others_are_emptied(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted([two_abandoned(lake), lake.uri])
    real = owner_files.owners

    def owners(blobs: Blobs) -> set[RepositoryUid]:
        if blobs.uri("x").startswith(first):
            raise Unavailable("away")
        return real(blobs)

    monkeypatch.setattr(owner_files, "owners", owners)
    emptied = empty_namespaces(lake.world.stores(), NOW)
    assert next(emptied).uri == second
    with pytest.raises(Unavailable, match="away"):
        next(emptied)


def test_a_damaged_record_is_raised_after_the_other_namespaces_are_emptied(lake: Lake) -> None:
    first, second = sorted([two_abandoned(lake), lake.uri])
    damaged = keys.abandoned_namespace(first)
    lake.world.kv.set(damaged.partition, damaged.key, b"damaged")
    emptied = empty_namespaces(lake.world.stores(), NOW)
    done = next(emptied)
    assert (done.uri, done.state) == (second, NamespaceState.RELEASED)
    with pytest.raises(CorruptData, match="abandoned/"):
        next(emptied)


def test_a_repository_that_takes_the_namespace_over_keeps_it(lake: Lake) -> None:
    new = lake.graveler.create_repository("new", lake.uri, adopt=True).branch("main")
    new.put("x", b"x")
    assert lake.state(NOW) is NamespaceState.OWNED
    assert lake.empty(NOW) is None
    assert new.read("x") == b"x"


def test_a_store_that_takes_the_namespace_over_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each call of a run that deletes."""
    monkeypatch.setattr(namespaces, "DELETED_AT_ONCE", 5)
    template = after(1, tmp_path)
    states = set[NamespaceState]()
    for at in places(100):
        lake, then = template.copy(), list[set[str]]()

        def take(lake: Lake = lake, then: list[set[str]] = then) -> None:
            there = replace(lake.world, kv=open_memory("memory://"))
            there.graveler().create_repository("new", lake.uri, adopt=True)
            then.append(lake.objects)

        kv = Interposed(lake.world.kv)
        kv.before[at] = take
        for _ in range(3):
            states.add(lake.state(kv=kv))  # type: ignore[arg-type]
            lake.sleep()
        if not then:
            break
        assert lake.objects == then[0], at
    assert at > 10
    assert NamespaceState.OWNED in states


def test_an_overlapping_namespace_is_left_alone(lake: Lake) -> None:
    inner = lake.graveler.create_repository("inner", lake.uri + "/data").branch("main")
    inner.put("x", b"x")
    before = lake.objects
    assert (lake.state(NOW), lake.objects) == (NamespaceState.OVERLAPPING, before)
    assert inner.read("x") == b"x"


def test_an_overlapping_namespace_is_left_alone_after_a_crash(tmp_path: Path) -> None:
    """It is created when the call is about to claim. The next calls look for it, too. The objects there are not the
    repository's own.
    """
    plan, call, crashed = CollectionPlan(timedelta(0), alone=True, foreign=True), 0, True
    while crashed:
        lake = Lake(tmp_path / str(call))

        def create(lake: Lake = lake) -> None:
            lake.graveler.create_repository("inner", lake.uri + "/inner").branch("main").put("x", b"x")
            written = lake.world.clock.time.timestamp()
            for path in (lake.root / OLD / "inner").rglob("*"):
                os.utime(path, (written, written))

        counted = Interposed(lake.world.fork().kv)
        lake.state(kv=counted)
        claims = counted.verbs.index("set_if")
        kv = Interposed(lake.world.kv)
        kv.before[claims], kv.fail[claims + 1 + call] = create, Crash()
        crashed = False
        try:
            lake.state(plan, kv)
        except Crash:
            crashed = True
        for _ in range(2):
            assert lake.state(plan) is NamespaceState.OVERLAPPING
        assert lake.graveler.repository("inner").branch("main").read("x") == b"x"
        call += 1
    assert call > 2


def test_a_repository_is_created_in_the_namespace_while_it_is_claimed(tmp_path: Path) -> None:
    """Between any two calls. Either the creation is refused, or the content of the repository stays."""
    made, at = set[bool](), 0
    while True:
        lake = Lake(tmp_path / str(at))
        uri, done = lake.uri + "/data", list[bool]()

        def create(lake: Lake = lake, uri: str = uri, done: list[bool] = done) -> None:
            with suppress(NotUnique):
                lake.graveler.create_repository("inner", uri).branch("main").put("x", b"x")
            done.append("inner" in {each.id for each in lake.graveler.list_repositories()})

        kv = Interposed(lake.world.kv)
        kv.before[at] = create
        state = lake.state(kv=kv)
        if not done:
            break
        made.add(done[0])
        assert state is (NamespaceState.OVERLAPPING if done[0] else NamespaceState.EMPTYING)
        if done[0]:
            assert lake.state(NOW) is NamespaceState.OVERLAPPING
            assert lake.graveler.repository("inner").branch("main").read("x") == b"x"
        at += 1
    assert made == {False, True}


def test_overlapping_namespaces_are_emptied_one_after_the_other_by_two_cleaners(tmp_path: Path) -> None:
    """A second call does not restart the grace period of the namespace that waits."""
    at, states = 0, list[NamespaceState]()
    while at == 0 or states:
        lake = Lake(tmp_path / str(at))
        lake.graveler.create_repository("inner", lake.uri + "/inner").branch("main").put("x", b"x")
        lake.graveler.delete_repository("inner")
        lake.sleep(timedelta(days=8))
        assert lake.graveler.clean().repositories == 1
        both = [each.state for each in empty_namespaces(lake.world.stores())]
        assert both == [NamespaceState.EMPTYING, NamespaceState.OVERLAPPING]
        lake.sleep(GRACE - timedelta(hours=1))
        states = []

        def other(lake: Lake = lake, states: list[NamespaceState] = states) -> None:
            lake.sleep(timedelta(hours=1))
            states += [each.state for each in empty_namespaces(lake.world.stores())]

        kv = Interposed(lake.world.kv)
        kv.before[at] = other
        for _ in empty_namespaces(lake.world.stores(kv)):
            pass
        assert not states or states == [NamespaceState.EMPTIED, NamespaceState.OVERLAPPING], at
        at += 1
    assert at > 5
    for _ in range(6):
        lake.sleep()
        left = list(empty_namespaces(lake.world.stores()))
    assert not left
    assert not lake.objects


def test_objects_that_graveler_did_not_create_stay_unless_asked_for(tmp_path: Path) -> None:
    for foreign in (False, True):
        lake = Lake(tmp_path / str(foreign))
        (lake.root / OLD / "readme").write_bytes(b"theirs")
        (lake.root / OLD / "data" / "notes").write_bytes(b"theirs")
        assert lake.state(CollectionPlan(timedelta(0), alone=True, foreign=foreign)) is NamespaceState.RELEASED
        assert lake.objects == (set() if foreign else {"readme", "data/notes"})


def test_a_key_value_store_in_the_namespace_stays(lake: Lake) -> None:
    """Its records are of other repositories too, and may be written at any time."""
    later = (lake.world.clock.time + timedelta(days=2)).timestamp()
    rows = {"graveler-kv/rows/a", "inner/graveler-kv/rows/b"}
    for row in rows:
        path = lake.root / OLD / row
        path.parent.mkdir(parents=True)
        path.write_bytes(b"row")
        os.utime(path, (later, later))
    for foreign in (False, True):
        expected = CollectionPlan(dry_run=True, foreign=foreign)
        before = lake.empty(expected)
        assert before is not None
        assert before.deleted == len(lake.objects - rows)
    assert lake.state(CollectionPlan(timedelta(0), alone=True, foreign=True)) is NamespaceState.RELEASED
    assert lake.objects == rows


def test_a_namespace_that_was_removed_twice_is_emptied(lake: Lake) -> None:
    """The second repository took it over before the content of the first one was deleted."""
    new = lake.graveler.create_repository("new", lake.uri, adopt=True)
    uid = new.uid
    new.branch("main").put("x", b"x")
    lake.graveler.delete_repository("new")
    lake.sleep(timedelta(days=8))
    assert lake.graveler.clean().repositories == 1
    assert lake.owners == {uid}
    done = lake.empty(NOW)
    assert done is not None
    assert (done.state, done.repository) == (NamespaceState.RELEASED, "new")
    assert not lake.objects | lake.owners
    lake.graveler.create_repository("third", lake.uri)


def test_a_late_cleaner_does_not_bring_back_the_record_of_a_former_repository(lake: Lake, tmp_path: Path) -> None:
    """Before each of its calls, all others are done, and a second repository has come and gone."""
    g, uri = lake.graveler, (tmp_path / "third").as_uri()
    g.create_repository("third", uri).branch("main").put("x", b"x")
    g.delete_repository("third")
    lake.sleep(timedelta(days=8))
    start = lake.world
    kv = Interposed(start.fork().kv)
    start.fork().graveler(kv).clean()
    calls = len(kv.verbs)

    def others(lake: Lake) -> None:
        lake.graveler.clean()
        lake.graveler.create_repository("fourth", uri, adopt=True)
        lake.graveler.delete_repository("fourth")
        lake.sleep(timedelta(days=8))
        lake.graveler.clean()

    for at in range(calls - 20, calls):
        lake.world = start.fork()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(others, lake)
        lake.world.graveler(kv).clean()
        found = {done.uri: done.repository for done in lake.graveler.empty_namespaces(dry_run=True)}
        assert found[uri] in ("third", "fourth"), at
        owners = owner_files.owners(lake.world.blobs.at(uri))
        record = access.read(lake.world.kv, keys.abandoned_namespace(uri))
        assert record is not None
        assert owners <= {record.value.uid}, at


def test_a_namespace_that_somebody_else_writes_to_is_left_alone(lake: Lake) -> None:
    """Another store uses the namespace: the repository was moved there."""
    file = lake.root / OLD / lake.entry.address
    later = (lake.world.clock.time + timedelta(days=2)).timestamp()
    os.utime(file, (later, later))
    before = lake.objects
    assert (lake.state(NOW), lake.objects) == (NamespaceState.WRITTEN, before)


def test_damage_ends_it(lake: Lake) -> None:
    other = lake.graveler.repository(OTHER).branch("main")
    other.put_many({f"{'x' * 200}/{number:04}": b"" for number in range(900)})
    other.commit("files of its own")
    lake.empty()
    lake.sleep()
    before = lake.objects
    for path in (lake.root / OTHER / "_graveler").iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(CorruptData):
        lake.empty()
    assert lake.objects == before


def _moved(lake: Lake, times: int) -> None:
    for _ in range(times):
        g = lake.graveler
        if any(repo.id == OTHER for repo in g.list_repositories()):
            g.delete_repository(OTHER)
        else:
            g.undelete_repository(OTHER)


def test_a_repository_that_is_deleted_and_restored_while_it_reads_is_found(tmp_path: Path) -> None:
    """Before each call, and before each pair of calls."""
    lake = Lake(tmp_path)
    lake.graveler.repository(OTHER).branch("main").stage("x", lake.full)
    plan = CollectionPlan(dry_run=True)
    for begins_deleted in (False, True):
        if begins_deleted:
            lake.graveler.delete_repository(OTHER)
        start = lake.world
        first, calls = 0, 1
        while first < calls:
            second = first
            while second < calls:
                lake.world = start.fork()
                kv = Interposed(lake.world.kv)
                if first == second:
                    kv.before[first] = partial(_moved, lake, 2)
                else:
                    kv.before[first] = kv.before[second] = partial(_moved, lake, 1)
                done = lake.empty(plan, kv)
                assert done is not None
                assert done.named == 1, (begins_deleted, first, second)
                calls, second = max(calls, len(kv.verbs)), second + 1
            first += 1
        lake.world = start
        assert calls > 8


def after(runs: int, root: Path) -> Template[Lake]:
    """A lake on which a number of runs have emptied namespaces, each one a grace period after the last."""
    lake = Lake(root / "lakes")
    for _ in range(runs):
        lake.empty()
        lake.sleep()
    return Template(lake)


def _attempted(lake: Lake, told: list[bool]) -> None:
    with suppress(Conflict):
        lake.graveler.repository(OTHER).branch("main").stage("x", lake.full)
        told.append(True)


def _created(lake: Lake, told: list[bool]) -> None:
    with suppress(NotUnique):
        new = lake.graveler.create_repository("new", lake.uri, adopt=True).branch("main")
        new.put("x", b"x")
        new.commit("x")
        told.append(True)


def _another(lake: Lake, told: list[bool]) -> None:
    with suppress(GravelerError):
        lake.empty()
        told.append(True)


@pytest.mark.parametrize(
    ("act", "run", "expected"),
    [
        (_attempted, 0, {True, False}),
        (_attempted, 1, {False}),
        (_created, 0, {True, False}),
        (_created, 1, {False}),
        (_created, 2, {True, False}),
        *((_another, run, {True}) for run in range(3)),
    ],
)
def test_others_between_any_two_calls(
    tmp_path: Path, act: Callable[[Lake, list[bool]], None], run: int, expected: set[bool]
) -> None:
    """The third run releases the namespace. After that, nothing is known about addresses in it."""
    could, template = set[bool](), after(run, tmp_path)
    for at in range(100):
        lake, told = template.copy(), list[bool]()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(act, lake, told)
        lake.empty(None, kv)
        if at >= len(kv.verbs):
            break
        for _ in range(run + 1, 5):
            lake.sleep()
            lake.empty()
        could.add(bool(told))
        assert not lake.missing(), at
        if any(repo.id == "new" for repo in lake.graveler.list_repositories()):
            assert lake.graveler.repository("new").branch("main").read("x") == b"x"
            findings = lake.graveler.repository("new").fsck(deep=True)
            assert {found.trouble for found in findings} <= {Trouble.UNREACHABLE}, at
        elif told and act is _attempted:
            assert lake.objects == {lake.entry.address}, at
        else:
            assert not lake.objects, at
    assert could == expected


def test_a_call_dies_anywhere_and_the_next_goes_on(tmp_path: Path) -> None:
    for run in range(3):
        template = after(run, tmp_path / str(run))
        at, calls = 0, 1
        while at < calls:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.fail[at] = Crash()
            with suppress(Crash):
                lake.empty(None, kv)
            calls = max(calls, len(kv.verbs))
            for _ in range(run + 1, 6):
                lake.sleep()
                lake.empty()
            lake.sleep()
            assert not lake.objects | lake.owners, (run, at)
            assert lake.empty() is None
            lake.graveler.create_repository("new", lake.uri)
            at += 1


def test_a_call_that_was_slower_than_all_others_deletes_nothing_of_a_new_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of its calls, others empty and release the namespace, and a repository with equal files is made."""
    monkeypatch.setattr(namespaces, "DELETED_AT_ONCE", 5)
    template = after(1, tmp_path)
    for at in places(100):
        lake = template.copy()

        def overtake(lake: Lake = lake) -> None:
            lake.empty()
            lake.sleep()
            assert lake.state() is NamespaceState.RELEASED
            lake.sleep()
            main = lake.graveler.create_repository(OLD, lake.uri).branch("main")
            main.put_many({f"file/{number:03}": b"%d" % number for number in range(40)})
            main.commit("forty files")

        kv = Interposed(lake.world.kv)
        kv.before[at] = overtake
        lake.empty(None, kv)
        if at >= len(kv.verbs):
            break
        assert not list(lake.graveler.repository(OLD).fsck(deep=True)), at
    assert at > 10


@pytest.mark.parametrize("dies", [False, True])
def test_a_cleaner_that_has_not_released_the_namespace_yet(lake: Lake, tmp_path: Path, dies: bool) -> None:
    """Before each call of the cleaner, namespaces are emptied, or the cleaner dies."""
    g = lake.graveler
    g.create_repository("third", (tmp_path / "third").as_uri()).branch("main").put("x", b"x")
    g.delete_repository("third")
    lake.sleep(timedelta(days=8))
    start = lake.world
    kv = Interposed(start.fork().kv)
    start.fork().graveler(kv).clean()
    calls = len(kv.verbs)
    for at in (*range(10), *range(calls - 20, calls)):  # between them, the cleaner drops the partitions of objects
        lake.world = start.fork()
        kv = Interposed(lake.world.kv)
        if dies:
            kv.fail[at] = Crash()
        else:
            kv.before[at] = lambda lake=lake: lake.graveler.empty_namespaces()  # type: ignore[misc]
        with suppress(Crash):
            lake.world.graveler(kv).clean()
        lake.graveler.empty_namespaces()
        lake.sleep(timedelta(minutes=11))
        lake.graveler.clean()
        found = lake.graveler.empty_namespaces(dry_run=True)
        assert [done.repository for done in found] == [OLD, "third"], at


def test_each_repository_is_found_whenever_it_is_deleted_and_restored(lake: Lake) -> None:
    """Up to four times, between any two calls."""
    kv = Interposed(lake.world.kv)
    list(all_repositories(kv))
    calls = len(kv.verbs) + 6
    uid = lake.graveler.repository(OTHER).uid
    start = lake.world
    for times in range(1, 5):
        for moments in combinations(range(calls), times):
            lake.world = start.fork()
            kv = Interposed(lake.world.kv)
            kv.before = dict.fromkeys(moments, partial(_moved, lake, 1))
            assert [repo.uid for repo in all_repositories(kv)] == [uid], moments
