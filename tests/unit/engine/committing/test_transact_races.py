"""Transactions against others that come in between, and called again. Source: behaviour 81, promises 4 and 5."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, Kind, NoChanges, OutcomeUnknown, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.operations import Operation, OperationConflict, Put, Remove, Resolution, Unchanged
from graveler_core.records.layout import STAGED
from graveler_core.stores import RetryBudget
from graveler_core.testing.faulty_store import Faulty, Late, LoseRequest
from tests.unit.engine.races import Interrupted, swaps_branch
from tests.unit.engine.ten_keys import at_head, messages, shown, ten_keys, update
from tests.unit.engine.world import World, entry


def _looks_at_staged(call: StoreCall) -> bool:
    return call.verb == "get_many" and call.key.startswith(STAGED)


@pytest.fixture
def world() -> World:
    """A branch of ten entries."""
    return ten_keys()


class TestRaces:
    """Something else happens between check and swap."""

    def race(self, world: World, operations: list[Operation], *others: Callable[[Branch], object]) -> Interrupted:
        """A transaction before whose swaps others get through."""
        kv = Interrupted(world.kv, *[lambda other=other: other(world.branch()) for other in others])
        world.branch(kv).transact(operations, message="mine")
        return kv

    def test_another_transaction_on_other_keys(self, world: World) -> None:
        """81: unrelated commits in between do not conflict."""
        kv = self.race(
            world,
            [Put("mine", entry(30)), Remove("k1")],
            lambda b: b.transact([Put("theirs", entry(40)), Remove("k2")], message="theirs"),
            lambda b: b.transact([Unchanged("k1"), Remove("k3")], message="theirs too"),
        )
        assert kv.met == 3
        assert messages(world) == ["mine", "theirs too", "theirs", "begin"]
        assert set(at_head(world)) == {"k0", "k4", "k5", "k6", "k7", "k8", "k9", "mine", "theirs"}

    @pytest.mark.parametrize(
        ("mine", "theirs", "kind"),
        [
            (Put("new", entry(30)), Put("new", entry(30)), "key_exists"),
            (Remove("k1"), Remove("k1"), "key_does_not_exist"),
            (Unchanged("k1"), Remove("k1"), "key_does_not_exist"),
        ],
    )
    def test_another_transaction_on_the_same_key(
        self, world: World, mine: Operation, theirs: Operation, kind: str
    ) -> None:
        """81: judged against the head that the swap is made from; the one that was first stays."""
        with pytest.raises(Conflict) as raised:
            self.race(world, [mine, Put("also", entry(1))], lambda b: b.transact([theirs], message="theirs"))
        assert [(c.path, c.kind.value) for c in raised.value.details["conflicts"]] == [(mine.path, kind)]
        assert messages(world) == ["theirs", "begin"]

    def test_an_update_of_what_another_one_updated(self, world: World) -> None:
        """81."""
        mine = update(world.branch(), "k1", 30)
        with pytest.raises(Conflict) as raised:
            self.race(world, [mine], lambda b: b.transact([update(b, "k1", 40)], message="theirs"))
        (conflict,) = raised.value.details["conflicts"]
        assert (conflict.kind.value, conflict.existing.size) == ("value_differs", 40)

    @pytest.mark.parametrize("theirs", ["k1", "k2"])
    def test_a_refusal_is_of_what_stands(self, world: World, theirs: str) -> None:
        """What is staged is committed between the records and the look at it: the head that was read is the past."""
        held = world.graveler().repository("repo").at("main").get("k1")
        mine = Put("k1", held, expected=held)
        world.branch().stage(theirs, entry(20))
        kv = Interrupted(world.kv, lambda: world.branch().commit("theirs"), before=_looks_at_staged)
        with pytest.raises(Conflict if theirs == "k1" else NoChanges) as raised:
            world.branch(kv).transact([mine], message="mine")
        assert kv.met == 2
        if theirs == "k1":
            assert raised.value.kind is Kind.TransactionConflict
        else:
            assert raised.value.details["commit"] == world.branch().record().commit_id

    def test_a_commit(self, world: World) -> None:
        """Staged beside it before, committed in between."""
        world.branch().stage("k2", entry(20))
        self.race(world, [Remove("k1")], lambda b: b.commit("theirs"))
        assert messages(world) == ["mine", "theirs", "begin"]
        assert at_head(world) == shown(world.branch())
        assert (at_head(world)["k2"], "k1" in at_head(world)) == (20, False)

    def test_a_commit_that_took_a_segment(self, world: World) -> None:
        """The files of a layer are gone when they are asked about its keys: that is news, not damage."""
        rows = [(f"many/{n:05}".encode(), normalise_entry(f"many/{n:05}", entry(n))) for n in range(bulk.SEGMENT_ROWS)]
        bulk.stage_records(*world.branch()._at, record_table(rows))
        kv = Interrupted(
            world.kv, lambda: world.branch().commit("theirs"), before=lambda call: call.key.startswith(STAGED)
        )
        world.branch(kv).transact([Remove("many/00007")], message="mine")
        assert messages(world) == ["mine", "theirs", "begin"]
        assert len(at_head(world)) == bulk.SEGMENT_ROWS + 9

    def test_a_merge_of_its_own_key(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.create_branch("dev", "main").transact([Put("new", entry(1))], message="dev")
        with pytest.raises(Conflict):
            self.race(world, [Put("new", entry(2))], lambda _: repo.merge("dev", "main"))
        assert at_head(world)["new"] == 1

    def test_a_compaction_of_what_was_staged_meanwhile(self, world: World) -> None:
        """The key was clean when it was checked; its change is in a compacted tree when the swap is tried again."""

        def theirs(branch: Branch) -> None:
            branch.stage("k1", entry(20))
            branch.compact()

        with pytest.raises(DirtyBranch):
            self.race(world, [Remove("k1")], theirs)
        assert shown(world.branch())["k1"] == 20

    def test_a_write_after_the_check_stays_on_top(self, world: World) -> None:
        """It orders after the transaction: acknowledged, seen, and in the next commit."""
        kv = self.race(world, [Remove("k1"), Put("new", entry(9))], lambda b: b.stage("k1", entry(20)))
        assert kv.met == 1
        branch = world.branch()
        assert ("k1" in at_head(world), shown(branch)["k1"], shown(branch)["new"]) == (False, 20, 9)
        branch.commit("next")
        assert at_head(world)["k1"] == 20

    def test_a_bulk_write_after_the_check_is_seen(self, world: World) -> None:
        """It swaps the branch record, so the check is made again."""
        with pytest.raises(DirtyBranch):
            self.race(world, [Remove("k1")], lambda b: b.remove_many(["k1"]))

    def test_the_branch_goes(self, world: World) -> None:
        world.graveler().repository("repo").create_branch("dev", "main")
        kv = Interrupted(world.kv, lambda: world.graveler().repository("repo").delete_branch("dev"))
        with pytest.raises(Exception, match="dev") as raised:
            world.branch(kv, "dev").transact([Remove("k1")], message="m")
        assert getattr(raised.value, "kind", None) is Kind.BranchNotFound

    def test_too_many_others(self, world: World) -> None:
        """It ends, and says that nothing was changed."""
        others = [lambda n=n: world.branch().transact([Put(f"t{n}", entry(n))], message="t") for n in range(20)]
        stores = replace(world.stores(Interrupted(world.kv, *others)), retry_budget=RetryBudget(total=3.0))
        with pytest.raises(SlowDown) as raised:
            Graveler(stores).repository("repo").branch("main").transact([Remove("k1")], message="mine")
        assert raised.value.kind is Kind.RetriesExhausted
        assert "k1" in at_head(world)

    def test_the_handler_is_asked_about_the_head_that_counts(self, world: World) -> None:
        """46, after a lost race: what was no conflict is one now."""
        kv = Interrupted(world.kv, lambda: world.branch().transact([Put("new", entry(1))], message="theirs"))
        asked: list[OperationConflict] = []

        def arbiter(conflict: OperationConflict) -> Resolution:
            asked.append(conflict)
            return Resolution.DROP

        world.branch(kv).transact([Put("new", entry(2)), Remove("k1")], message="mine", on_conflict=arbiter)
        assert [c.existing.size for c in asked if c.existing] == [1]
        assert (at_head(world)["new"], "k1" in at_head(world)) == (1, False)


class TestIdempotency:
    """An idempotency key names a call; doing it again is not doing it twice."""

    def call(self, branch: Branch, key: str = "run-1/step") -> str:
        return branch.transact([Put("new", entry(1)), Remove("k1")], message="m", idempotency_key=key).id

    def test_the_call_again(self, world: World) -> None:
        """Without the key it would be a conflict."""
        first = self.call(world.branch())
        assert self.call(world.branch()) == first
        assert messages(world) == ["m", "begin"]

    def test_the_call_again_after_others(self, world: World) -> None:
        """What the others did stays, also where they undid it."""
        first = self.call(world.branch())
        world.branch().transact([Remove("new"), Put("k1", entry(4))], message="undone")
        world.branch().stage("k1", entry(5))
        assert self.call(world.branch()) == first
        assert messages(world) == ["undone", "m", "begin"]

    def test_other_keys_are_other_calls(self, world: World) -> None:
        self.call(world.branch())
        with pytest.raises(Conflict):
            self.call(world.branch(), "run-2/step")

    def test_a_key_of_another_branch(self, world: World) -> None:
        self.call(world.branch())
        dev = world.graveler().repository("repo").create_branch("dev", "main")
        with pytest.raises(InvalidInput, match="another branch"):
            self.call(dev)

    def test_a_call_that_failed_may_be_made_again(self, world: World) -> None:
        branch = world.branch()
        branch.stage("k1", entry(9))
        with pytest.raises(DirtyBranch):
            self.call(branch)
        branch.reset()
        branch.transact([Put("beside", entry(1))], message="others")
        assert self.call(branch) == branch.record().commit_id

    def test_two_at_once(self, world: World) -> None:
        """The same call in two processes: the slower one finds the faster one's commit when its swap is lost."""
        done: list[str] = []
        kv = Interrupted(world.kv, lambda: done.append(self.call(world.branch())))
        assert [self.call(world.branch(kv))] == done
        assert messages(world) == ["m", "begin"]

    def test_a_commit_that_comes_late(self, world: World) -> None:
        """The first caller gave up on a silent store; its swap arrives while the second one works."""
        late = [Late(3)]
        silent: list[bool] = []

        def plan(call: StoreCall, _: int) -> Late | LoseRequest | None:
            if late and swaps_branch(call):
                silent.append(True)
                return late.pop()
            return LoseRequest() if silent else None

        kv = Faulty(world.kv, plan)
        with pytest.raises(OutcomeUnknown):
            self.call(world.branch(kv))
        silent.clear()
        self.call(world.branch(kv))
        assert messages(world) == ["m", "begin"]
