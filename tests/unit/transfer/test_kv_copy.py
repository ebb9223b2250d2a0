"""Whole stores, copied: exact between all backends, resumed after any call, never merged, never of a moving source."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NotUnique, OutcomeUnknown, Unavailable
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.copying import Copying
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.faulty_store import Fault, Faulty, LoseAnswer, Refuse
from graveler_core.testing.plain_store import PlainStore
from graveler_core.transfer import kv_copy_loading
from graveler_core.transfer.kv_copy import Copied, copy_store, finish_copy, measure
from graveler_core.transfer.kv_copy_compare import Differs, compare_stores
from tests.unit.engine.world import World, entry
from tests.unit.records.samples import RECORDS
from tests.unit.transfer.stores import lived_in, located, planted, rows


def empty() -> Store:
    return open_memory("memory://")


def killed(call: int) -> Callable[[StoreCall, int], Fault | None]:
    """From this call on nothing answers."""
    return lambda _, number: Refuse(lambda: Unavailable("killed")) if number >= call else None


def test_every_kind_of_record_is_copied() -> None:
    source, target = empty(), empty()
    planted(source)
    assert {where.model for where, _ in located()} >= {type(record) for record in RECORDS.values()} - {Copying}
    copied = copy_store(source, target)
    assert rows(target) == rows(source)
    held = rows(source)
    assert (copied.amount.partitions, copied.amount.rows) == (len(held), sum(map(len, held.values())))
    size = sum(len(key) + len(value) for found in held.values() for key, value in found.items())
    assert copied.amount.size == size


@pytest.mark.parametrize("wrap", [lambda kv: kv, pytest.param(PlainStore, marks=pytest.mark.ci)], ids=["able", "plain"])
@pytest.mark.ci
def test_a_store_that_was_lived_in(wrap: Callable[[Store], Store]) -> None:
    world = lived_in(staged=1_200)
    target = empty()
    told: list[int] = []
    copied = copy_store(wrap(world.kv), wrap(target), progress=told.append)
    assert rows(target) == rows(world.kv)
    assert (copied.repositories, copied.deleted, copied.resumed) == (3, 1, False)
    registers = sum(len(rows(world.kv)[partition]) for partition in (keys.GRAVELER, keys.DELETED))
    assert sum(told) == 2 * (copied.amount.rows - registers)
    there = World(kv=target, blobs=world.blobs, clock=world.clock, ids=world.ids, name=world.name).graveler()
    here = world.graveler()
    assert [repo.id for repo in there.list_repositories()] == [repo.id for repo in here.list_repositories()]
    for name in ("main", "dev"):
        assert list(there.repository("repo").at(name).list()) == list(here.repository("repo").at(name).list())
    there.repository("repo").branch("dev").stage("new", entry(1))
    there.repository("repo").branch("dev").commit("goes on")


def test_round_trips_through_all_backends(tmp_path: Path, postgresql_url: str) -> None:
    """memory → SQLite → PostgreSQL → SQLite → memory."""
    world = lived_in(staged=1_200)
    urls = [f"sqlite:///{tmp_path}/a.db?durability=process", postgresql_url, f"sqlite:///{tmp_path}/b.db"]
    last, target = world.kv, empty()
    amounts: list[Copied] = []
    stores = [open_store(url) for url in urls]
    for store in (*stores, target):
        amounts.append(copy_store(last, store))
        last = store
    assert rows(target) == rows(world.kv)
    assert len(set(amounts)) == 1
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def small() -> World:
    """Few rows in many partitions, and one partition of several batches."""
    world = World()
    main = world.repository().branch("main")
    main.stage("a", entry(1))
    main.commit("one")
    main.stage("b", entry(1))
    world.repository("deleted")
    world.graveler().delete_repository("deleted")
    for number in range(25):
        world.kv.set(keys.IAM, b"users/%02d" % number, b"x")
    return world


def test_a_copy_killed_after_any_call_is_resumed(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_copy_loading, "FEW_ROWS", 3)
    wanted = rows(small.kv)
    writes = [0]

    def watch(call: StoreCall, number: int) -> None:
        if call.writes:
            writes.append(number)

    copy_store(small.kv, Faulty(empty(), watch))
    # Between two writes only reads are missed: a kill at each write, and after the last one, is a kill anywhere.
    assert len(writes) > 10
    for number in writes:
        target = empty()
        with pytest.raises(Unavailable):
            copy_store(small.kv, Faulty(target, killed(number)))
        seen = rows(target).get(keys.GRAVELER, {})
        assert seen in ({}, wanted[keys.GRAVELER])
        copied = copy_store(small.kv, target)
        assert copied.resumed is (number > writes[1])
        assert rows(target) == wanted


def test_a_copy_killed_again_and_again_ends(small: World) -> None:
    """Each run gets a few calls further than the last: nothing that was done is done again but the last step."""
    target = empty()
    for run in count():
        try:
            copy_store(small.kv, Faulty(target, killed(900)))
        except Unavailable:
            assert run < 20
        else:
            break
    assert rows(target) == rows(small.kv)


def test_lost_answers(small: World) -> None:
    """Every third write is done, and nobody hears of it."""

    def plan(call: StoreCall, number: int) -> Fault | None:
        return LoseAnswer() if call.writes and number % 3 == 0 else None

    target = empty()
    for _ in range(10):
        try:
            copy_store(small.kv, Faulty(target, plan))
        except (OutcomeUnknown, Conflict):
            continue
        break
    assert rows(target) == rows(small.kv)


def test_what_is_large_goes_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition of 25,000 rows: three pages, a move of the marker each; resumed behind the last one."""
    source, target = empty(), empty()
    for number in range(25_000):
        source.set(keys.IAM, b"users/%05d" % number, b"x")
    loads: list[StoreCall] = []

    def watch(call: StoreCall, number: int) -> Fault | None:
        if call.verb == "load":
            loads.append(call)
        return Refuse(lambda: Unavailable("killed")) if len(loads) == 3 else None

    with pytest.raises(Unavailable):
        copy_store(source, Faulty(target, watch))
    assert [call.rows for call in loads] == [10_000, 10_000, 5_000]
    del loads[:]
    copy_store(source, Faulty(target, watch))
    assert [call.rows for call in loads] == [5_000]
    assert rows(target) == rows(source)


def test_nothing_is_written_by_a_count() -> None:
    world, target = lived_in(), empty()
    counted = measure(world.kv, target)
    assert rows(target) == {}
    assert counted == copy_store(world.kv, target)


class TestRefusals:
    def test_a_target_in_use(self) -> None:
        world = lived_in()
        target = lived_in().kv
        before = rows(target)
        for call in (copy_store, measure):
            with pytest.raises(NotUnique, match="the target is not empty") as refused:
                call(world.kv, target)
            assert refused.value.kind is Kind.StoreNotEmpty
        assert rows(target) == before

    def test_a_target_that_was_copied_whole(self) -> None:
        world, target = lived_in(), empty()
        copy_store(world.kv, target)
        with pytest.raises(NotUnique, match="not empty"):
            copy_store(world.kv, target)

    def test_a_store_into_itself(self) -> None:
        kv = lived_in().kv
        with pytest.raises(NotUnique, match="not empty"):
            copy_store(kv, kv)

    def test_an_empty_source(self) -> None:
        with pytest.raises(InvalidInput, match="is empty"):
            copy_store(empty(), empty())

    def test_half_a_copy_as_source(self, small: World) -> None:
        half = empty()
        with pytest.raises(Unavailable):
            copy_store(small.kv, Faulty(half, killed(100)))
        with pytest.raises(InvalidInput, match="unfinished copy"):
            copy_store(half, empty())

    @pytest.mark.parametrize("change", [lived_in, World], ids=["another", "fresh"])
    def test_half_a_copy_of_another_store(self, small: World, change: Callable[[], World]) -> None:
        half = empty()
        with pytest.raises(Unavailable):
            copy_store(small.kv, Faulty(half, killed(100)))
        other = change()
        other.ids.skip(10_000)
        other.repository("one-more")
        before = rows(half)
        with pytest.raises(NotUnique, match="another store"):
            copy_store(other.kv, half)
        assert rows(half) == before

    def test_a_target_in_which_somebody_began_to_work(self, small: World) -> None:
        target = empty()
        other = World(kv=target)
        other.ids.skip(10_000)

        def work(call: StoreCall, number: int) -> Fault | None:
            if number == 300:
                other.repository("mine")
            return None

        with pytest.raises(NotUnique, match="in use: graveler/"):
            copy_store(small.kv, Faulty(target, work))
        assert [repo.id for repo in other.graveler().list_repositories()] == ["mine"]


def used_before_its_end(small: World) -> World:
    """The target of a copy that died before it removed its marker, and that was used since."""
    target = empty()

    def dies(call: StoreCall, number: int) -> Fault | None:
        return (
            Refuse(lambda: Unavailable("killed")) if call.verb == "delete_if" and call.partition == keys.COPY else None
        )

    with pytest.raises(Unavailable):
        copy_store(small.kv, Faulty(target, dies))
    other = World(kv=target)
    other.ids.skip(10_000)
    other.repository("mine")
    other.graveler().delete_repository("repo")
    return other


class TestFinished:
    """A copy that was interrupted at its last step, into a store that was used since then."""

    def test_it_counts_as_complete(self, small: World) -> None:
        other = used_before_its_end(small)
        before = rows(other.kv)
        with pytest.raises(NotUnique, match=r"in use: graveler_deleted/repo.*finish-copy"):
            copy_store(small.kv, other.kv)
        with pytest.raises(InvalidInput, match=r"unfinished copy; repeat that copy; if .*finish-copy"):
            copy_store(other.kv, empty())
        finish_copy(other.kv)
        after = rows(other.kv)
        assert after == {partition: found for partition, found in before.items() if partition != keys.COPY}
        copy_store(other.kv, empty())

    def test_a_copy_without_repositories_is_refused(self, small: World) -> None:
        target = empty()
        with pytest.raises(InvalidInput, match="is no unfinished copy"):
            finish_copy(target)
        with pytest.raises(Unavailable):
            copy_store(small.kv, Faulty(target, killed(100)))
        with pytest.raises(InvalidInput, match="copy again"):
            finish_copy(target)

    def test_a_run_goes_on(self, small: World) -> None:
        other = used_before_its_end(small)

        def another(call: StoreCall, number: int) -> Fault | None:
            if call.verb == "delete_if":
                other.kv.set(call.partition, b"into", b"{}")
            return None

        with pytest.raises(Conflict, match="another run"):
            finish_copy(Faulty(other.kv, another))


class TestMovingSources:
    """The source changes at some call of the copy."""

    @pytest.mark.parametrize(
        "at", [pytest.param(at, marks=pytest.mark.ci if at % 225 else ()) for at in range(0, 900, 75)]
    )
    def test_a_commit_meanwhile(self, at: int) -> None:
        """Seen and copied anew, or before it all, or a difference that the next run mends; never half of it."""
        world, target = lived_in(), empty()
        committed: list[object] = []

        def work(call: StoreCall, number: int) -> Fault | None:
            if number == at:
                committed.append(world.branch(name="dev").commit("meanwhile"))
            return None

        with suppress(Conflict):
            copy_store(Faulty(world.kv, work), target)
        if access.read(target, keys.copying()) is not None:
            assert copy_store(world.kv, target).resumed
        assert committed
        assert rows(target) == rows(world.kv)

    def test_commits_without_end_name_the_branch(self) -> None:
        world, target = lived_in(), empty()
        staging = world.branch(name="dev").record

        def work(call: StoreCall, number: int) -> Fault | None:
            if call.partition == keys.staging(staging().staging_token):
                world.branch(name="dev").stage("k", entry(number))
                world.branch(name="dev").commit(f"at {number}")
            return None

        with pytest.raises(Conflict, match=r"branch dev of repos/repo changed 3 times"):
            copy_store(Faulty(world.kv, work), target)
        assert list(World(kv=target).graveler().list_repositories()) == []
        copy_store(world.kv, target)
        assert rows(target) == rows(world.kv)

    def test_a_write_meanwhile_is_a_difference(self) -> None:
        """It changes no register; the comparison finds it, and the next run copies it."""
        world, target = lived_in(), empty()
        token = keys.staging(world.branch(name="dev").record().staging_token)
        scanned: list[int] = []
        written: list[object] = []

        def work(call: StoreCall, number: int) -> Fault | None:
            if call.partition == token:
                scanned.append(number)
            elif scanned and call.partition == keys.IAM and not written:
                written.append(world.branch(name="dev").stage("k", entry(1)))
            return None

        with pytest.raises(Conflict, match="key/k is missing in the target"):
            copy_store(Faulty(world.kv, work), target)
        assert list(World(kv=target).graveler().list_repositories()) == []
        copy_store(world.kv, target)
        assert rows(target) == rows(world.kv)

    def test_a_repository_created_meanwhile(self) -> None:
        world, target = lived_in(), empty()

        def work(call: StoreCall, number: int) -> Fault | None:
            if number == 500:
                world.repository("late")
            return None

        with pytest.raises(Conflict, match="created, deleted or changed"):
            copy_store(Faulty(world.kv, work), target)
        assert keys.GRAVELER not in rows(target)


def test_two_runs_at_once(small: World) -> None:
    """The second takes over; the first ends at its next step."""
    target = empty()
    begun: list[Copied] = []

    def work(call: StoreCall, number: int) -> Fault | None:
        if number == 200:
            begun.append(copy_store(small.kv, target))
        return None

    with pytest.raises(Conflict, match="another run") as lost:
        copy_store(small.kv, Faulty(target, work))
    assert lost.value.kind is Kind.LostRace
    assert len(begun) == 1
    assert rows(target) == rows(small.kv)


@pytest.mark.parametrize("byte", [b"", *(pytest.param(byte, marks=pytest.mark.ci) for byte in (b"\x00", b"\xff"))])
def test_comparisons_find_every_row(byte: bytes) -> None:
    world = lived_in()
    for partition, held in rows(world.kv).items():
        for key in (next(iter(held)), [*held][-1]):
            for how, key_there in ((Differs.CHANGED, key), (Differs.SURPLUS, key + b"\x00")):
                other = World(kv=world.kv).fork().kv
                other.set(partition, key_there, b"damaged" + byte)
                assert [(d.partition, d.key, d.how) for d in compare_stores(world.kv, other).differences] == [
                    (partition, key_there, how)
                ]
            other = World(kv=world.kv).fork().kv
            other.delete(partition, key)
            (found,) = compare_stores(world.kv, other).differences
            assert (found.partition, found.key, found.how) == (partition, key, Differs.MISSING)
            assert str(found).endswith("is missing")


def test_equal_stores() -> None:
    world = lived_in(staged=1_200)
    found = compare_stores(world.kv, world.fork().kv)
    assert found.differences == ()
    assert found.equal == measure(world.kv, empty()).amount


def test_closing() -> None:
    """Whoever opened the stores closes them."""
    with closing(empty()) as target:
        copy_store(lived_in().kv, target)
        assert access.read(target, keys.copying()) is None
