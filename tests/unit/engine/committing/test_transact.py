"""Transactions on branches with something staged or compacted, and what they cost. Source: the guarantees, "Dirty
branches". The rules on operations are in `test_validation`, what others do meanwhile in `test_transact_races`."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.codec.staged_record import encode_entry
from graveler_core.engine.committing.seal import seal
from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, LimitExceeded, NoChanges
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entry import MAX_RECORD_BYTES, Entry
from graveler_core.model.operations import Operation, Put, Remove, Unchanged
from graveler_core.testing.counting_store import Counting
from tests.examples import examples
from tests.unit.engine.operations import Seen, Tree, content_id, judged, transactions, unique
from tests.unit.engine.races import Interrupted, WatchedBlobs
from tests.unit.engine.ten_keys import at_head, messages, shown, ten_keys, update
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """A branch of ten entries."""
    return ten_keys()


class TestDirtyKeys:
    """A transaction refuses what is staged for its own keys, and nothing else."""

    @pytest.mark.parametrize("operation", [Put("k1", entry(50)), Remove("k1"), Unchanged("k1")])
    def test_a_record_of_its_own_key(self, world: World, operation: Operation) -> None:
        branch = world.branch()
        branch.stage("k1", entry(20))
        branch.stage("k2", entry(21))
        with pytest.raises(DirtyBranch) as raised:
            branch.transact([operation, Put("new", entry(51))], message="m")
        assert raised.value.details["paths"] == ["k1"]
        assert messages(world) == ["begin"]
        assert shown(branch)["k1"] == 20

    def test_a_record_in_a_sealed_token(self, world: World) -> None:
        """As a committer leaves it that has died after its seal."""
        branch = world.branch()
        branch.stage("k1", entry(20))
        stores, repo, name = branch._at
        seal(stores, repo, name, allow_empty=False)
        with pytest.raises(DirtyBranch):
            branch.transact([Remove("k1")], message="m")

    def test_a_record_in_a_segment(self, world: World) -> None:
        branch = world.branch()
        rows = [(f"many/{n:05}".encode(), normalise_entry(f"many/{n:05}", entry(n))) for n in range(bulk.SEGMENT_ROWS)]
        bulk.stage_records(*branch._at, record_table(rows))
        with pytest.raises(DirtyBranch) as raised:
            branch.transact([Put("many/00007", entry(1)), Remove("k1")], message="m")
        assert raised.value.details["paths"] == ["many/00007"]
        branch.transact([Put("many/x", entry(1)), Remove("k1")], message="beside it")
        assert len(shown(branch)) == bulk.SEGMENT_ROWS + 10

    def test_a_tombstone_of_an_absent_key(self, world: World) -> None:
        """Dirty is a matter of records, not of effect: else the next commit would take back what was put."""
        branch = world.branch()
        branch.stage("new", entry(1))
        branch.remove("new")
        branch.stage("other", entry(2))
        branch.remove_many(["gone"])
        with pytest.raises(DirtyBranch):
            branch.transact([Put("gone", entry(3))], message="m")

    def test_a_removal_over_it(self, world: World) -> None:
        branch = world.branch()
        branch.remove_prefix("k1")
        with pytest.raises(DirtyBranch):
            branch.transact([Unchanged("k1")], message="m")
        branch.transact([Remove("k2")], message="beside it")
        assert sorted(shown(branch)) == ["k0", "k3", "k4", "k5", "k6", "k7", "k8", "k9"]
        assert "k1" in at_head(world)

    def test_a_restoration_over_a_record(self, world: World) -> None:
        """What was staged below the restoration is discarded, so it is not in the way: also not for the next commit."""
        branch = world.branch()
        branch.stage("k1", entry(20))
        branch.remove_prefix("k2")
        branch.reset("k")
        branch.transact([update(branch, "k1", 31), Remove("k2"), Put("k_new", entry(32))], message="m")
        assert shown(branch) == at_head(world)
        assert (shown(branch)["k1"], shown(branch)["k_new"], "k2" in shown(branch)) == (31, 32, False)
        with pytest.raises(NoChanges):
            branch.commit("nothing is left")
        assert shown(branch) == at_head(world)
        assert shown(branch)["k1"] == 31

    def test_a_record_over_a_restoration(self, world: World) -> None:
        branch = world.branch()
        branch.stage("k1", entry(20))
        branch.reset("k")
        branch.stage("k1", entry(21))
        with pytest.raises(DirtyBranch):
            branch.transact([Remove("k1")], message="m")

    def test_what_is_staged_beside_it_stays_staged(self, world: World) -> None:
        branch = world.branch()
        branch.stage("k2", entry(20))
        branch.remove("k3")
        branch.transact([Remove("k1")], message="m")
        assert [change.path for change in branch.uncommitted()] == ["k2", "k3"]
        assert set(at_head(world)) == {f"k{n}" for n in range(10)} - {"k1"}
        branch.commit("the rest")
        assert shown(branch) == at_head(world)
        assert (shown(branch)["k2"], "k1" in shown(branch), "k3" in shown(branch)) == (20, False, False)


class TestCompactedBranch:
    """A compacted tree stands between head and layers, and a transaction has to change both."""

    @pytest.fixture
    def compacted(self, world: World) -> Branch:
        """k1 changed, k2 removed and k_new added in the compacted tree; k8 staged on top."""
        branch = world.branch()
        branch.stage("k1", entry(21))
        branch.remove("k2")
        branch.stage("k_new", entry(22))
        branch.compact()
        branch.stage("k8", entry(28))
        return branch

    @pytest.mark.parametrize(
        "operation", [Unchanged("k1"), Remove("k2"), Put("k2", entry(5)), Put("k_new", entry(5)), Remove("k_new")]
    )
    def test_a_key_that_differs_there(self, compacted: Branch, operation: Operation) -> None:
        """Refused as dirty, whatever the head says of it."""
        with pytest.raises(DirtyBranch) as raised:
            compacted.transact([operation, Remove("k4")], message="m")
        assert raised.value.details["paths"] == [operation.path]
        assert "k4" in shown(compacted)

    def test_visible_at_once_and_after_the_next_commit(self, world: World, compacted: Branch) -> None:
        before = shown(compacted)
        compacted.transact([update(compacted, "k4", 34), Remove("k5"), Put("k_more", entry(35))], message="m")
        after = {path: size for path, size in before.items() if path != "k5"} | {"k4": 34, "k_more": 35}
        assert shown(compacted) == after
        assert at_head(world) == {f"k{n}": n for n in range(10) if n != 5} | {"k4": 34, "k_more": 35}
        assert [change.path for change in compacted.uncommitted()] == ["k1", "k2", "k8", "k_new"]
        compacted.commit("the compacted and the staged rest")
        assert shown(compacted) == at_head(world) == after

    def test_a_second_transaction_and_a_second_compaction(self, world: World, compacted: Branch) -> None:
        compacted.transact([Remove("k5")], message="one")
        compacted.compact()
        compacted.transact([Remove("k6")], message="two")
        assert "k8" not in {path for path, size in at_head(world).items() if size == 28}
        with pytest.raises(DirtyBranch):
            compacted.transact([Remove("k8")], message="three")
        compacted.commit("all")
        assert shown(compacted) == at_head(world)
        assert sorted(shown(compacted)) == ["k0", "k1", "k3", "k4", "k7", "k8", "k9", "k_new"]

    def test_a_restoration_over_what_differs_there(self, world: World, compacted: Branch) -> None:
        """The head shows through, so the head is what counts; the compacted tree does not come back later."""
        compacted.reset("k1")
        compacted.reset("k2")
        compacted.transact([update(compacted, "k1", 41), Remove("k2")], message="m")
        assert (shown(compacted)["k1"], "k2" in shown(compacted), shown(compacted)["k_new"]) == (41, False, 22)
        compacted.commit("rest")
        assert shown(compacted) == at_head(world)
        assert (shown(compacted)["k1"], "k2" in shown(compacted), shown(compacted)["k_new"]) == (41, False, 22)

    def test_a_reset_leaves_the_transaction(self, world: World, compacted: Branch) -> None:
        compacted.transact([Remove("k5")], message="m")
        compacted.reset()
        assert shown(compacted) == at_head(world) == {f"k{n}": n for n in range(10) if n != 5}


class TestWork:
    """What a transaction costs: round trips and blobs."""

    def test_three_round_trips(self, world: World) -> None:
        """Records, staged keys with the repository, swap with the commit: for a process that knows the branch."""
        kv = Counting(world.kv)
        branch = world.branch(kv)
        branch.transact([Remove("k1")], message="warm")
        few: list[Operation] = [Remove("k2"), Put("a", entry(1)), Unchanged("k4")]
        many: list[Operation] = [Put(f"n{n}", entry(n)) for n in range(50)]
        for operations in (few, many):
            kv.reset()
            branch.transact(operations, message="m")
            assert (kv.round_trips, dict(kv.counts)) == (3, {"get_many": 2, "write_and_swap": 1})

    def test_a_refusal_writes_nothing(self, world: World) -> None:
        """Neither records nor blobs."""
        blobs = WatchedBlobs(world.blobs)
        kv = Counting(world.kv)
        branch = _branch(world, kv, blobs)
        branch.stage("k7", entry(1))
        kv.reset()
        held = branch.get("k3")
        same = Put("k3", held, expected=held)
        refused: list[Operation | None] = [Put("k1", entry(1)), Remove("k7"), Unchanged("k2"), same, Put("x", Entry())]
        for operation in [*refused, None]:
            operations = [] if operation is None else [operation]
            with pytest.raises((Conflict, NoChanges, InvalidInput)):
                branch.transact(operations, message="m")
        assert not {"set", "set_many", "set_if", "write_and_swap"} & set(kv.counts)
        assert blobs.created == []

    @pytest.mark.parametrize("count", [1, 40])
    def test_a_content_id_counts_for_the_size(self, world: World, count: int) -> None:
        """One by one and as columns: an entry that is too large only with the content id that is drawn for it."""
        room = MAX_RECORD_BYTES - len(encode_entry(normalise_entry("k", Entry(address="a", checksum="x"))))
        large = Entry(address="a", checksum="x" * (room + 1))
        normalise_entry("k", large)
        others: list[Operation] = [Put(f"n{n}", entry(n)) for n in range(count - 1)]
        with pytest.raises(LimitExceeded, match="record is 73,744 bytes"):
            world.branch().transact([Put("large", large), *others], message="m")
        assert messages(world) == ["begin"]

    @pytest.mark.parametrize("compacting", [False, True])
    def test_no_blob_is_written_twice(self, world: World, compacting: bool) -> None:
        """Over all attempts and both trees: what an attempt wrote, the next one only writes anew where it differs."""
        if compacting:
            world.branch().stage("k9", entry(19))
            world.branch().compact()
        others = [lambda n=n: world.branch().transact([Remove(f"k{n}")], message="t") for n in (6, 7, 8)]
        kv = Interrupted(world.kv, *others)
        blobs = WatchedBlobs(world.blobs)
        operations = [Put(f"a{n:03}", entry(n)) for n in range(40)]
        _branch(world, kv, blobs).transact(operations, message="mine")
        assert kv.met == 4
        assert len(blobs.created) == len(set(blobs.created)) > 0

    def test_no_new_entry_is_told_apart_by_attempts(self, world: World) -> None:
        """79: the generated content id is drawn once a call."""
        drawn = world.ids.fresh()
        kv = Interrupted(world.kv, lambda: world.branch().transact([Remove("k6")], message="t"))
        world.branch(kv).transact([Put("new", entry(1))], message="mine")
        known = world.branch().get("new").content_id
        assert known == content_id(int(drawn, 16) + 1)


def _branch(world: World, kv: Counting | Interrupted, blobs: WatchedBlobs) -> Branch:
    stores = replace(world.stores(kv), blobs=blobs)
    return Graveler(stores).repository("repo").branch("main")


@settings(max_examples=examples(60))
@given(data=st.data())
def test_one_atomic_step_against_a_model(data: st.DataObject) -> None:
    """Transactions in a row, some with another one between check and swap: each is done whole, or changes nothing."""
    world = World()
    world.repository()
    now: Tree = {}
    for _ in range(data.draw(st.integers(1, 4))):
        mine, theirs = data.draw(transactions(now)), data.draw(transactions(now))
        between: list[tuple[list[Seen], Tree]] = []

        def interrupt(between: list[tuple[list[Seen], Tree]] = between, theirs: list[Operation] = theirs) -> None:
            between.append((_attempted(world.branch(), theirs), _content(world)))

        done = _attempted(world.branch(Interrupted(world.kv, interrupt)), mine)
        for conflicts, after in between:
            _check(theirs, now, conflicts, after)
            now = after
        after = _content(world)
        _check(mine, now, done, after)
        now = after
        if not unique(now):
            return


def _attempted(branch: Branch, operations: list[Operation]) -> list[Seen]:
    """The conflicts; none where it was done, or had nothing to change."""
    try:
        branch.transact(operations, message="m")
    except NoChanges:
        return []
    except Conflict as e:
        return sorted((c.path, c.kind.value, type(c.operation).__name__) for c in e.details["conflicts"])
    return []


def _content(world: World) -> Tree:
    return {held.path: held for held in world.branch().list() if isinstance(held, Entry)}


def _check(operations: list[Operation], before: Tree, conflicts: list[Seen], after: Tree) -> None:
    expected_conflicts, expected = judged(operations, before)
    assert conflicts == expected_conflicts
    if conflicts:
        assert after == before
        return
    anew = {o.path for o in operations if isinstance(o, Put) and o.expected is None and o.entry.content_id is None}
    assert all(after[path].content_id is not None for path in anew)
    plain = {path: replace(held, content_id=None) if path in anew else held for path, held in after.items()}
    assert {path: normalise_entry(path, held) for path, held in plain.items()} == expected
