"""Transplant, cherry-pick and revert: behaviour 83, and the guarantees for what moves a head. The rule by which changes
meet is that of a merge and is tested with `committed.index.three_way`; left out: a dry run, and keys that are forced or
dropped one by one, which there are none of (a strategy decides for all)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, Kind, NoChanges, NotFound, OutcomeUnknown
from graveler_core.facade.branch import Branch
from graveler_core.facade.history import CommitRecord
from graveler_core.facade.repository import Repository
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.operations import Put, Remove
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.testing.faulty_store import Fault, Faulty, Late, LoseAnswer, LoseRequest
from tests.unit.engine.races import Interrupted, failing_swap, late_swaps, swaps_branch
from tests.unit.engine.ten_keys import at_head, messages, shown, ten_keys, update
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """A branch of ten entries, and `dev`, which has three commits of its own."""
    made = ten_keys()
    dev = repository(made).create_branch("dev", "main")
    dev.transact([Put("a", entry(20))], message="one", committer="ann", metadata={"ticket": "7"})
    dev.transact([Put("b", entry(21)), Remove("k1")], message="two", committer="bob")
    dev.transact([Remove("k2")], message="three")
    return made


def repository(world: World, kv: Faulty | Interrupted | None = None) -> Repository:
    """The repository, seen by another process."""
    return world.graveler(kv).repository("repo")


def elsewhere(world: World, path: str = "theirs") -> CommitRecord:
    """A commit of somebody else on the branch."""
    return world.branch().transact([Put(path, entry(90))], message=path)


def compact_a_change(branch: Branch) -> None:
    """Leave a compacted tree that differs from the head, and no layer."""
    branch.stage("beside", entry(1))
    branch.compact()


FAULTS = [(LoseAnswer(), 1), (LoseRequest(), 1), *[(Late(calls), sent) for calls, sent in late_swaps()]]
TRANSPLANTED = {f"k{n}": n for n in range(10) if n not in (1, 2)} | {"a": 20, "b": 21}
THREE = ("dev~2", "dev~1", "dev")


class TestTransplant:
    """Several commits, oldest first, in one step."""

    def test_commits_are_replayed_one_by_one(self, world: World) -> None:
        theirs = elsewhere(world)
        repo = repository(world)
        head = repo.transplant(THREE, "main")
        assert messages(world) == ["three", "two", "one", "theirs", "begin"]
        assert at_head(world) == TRANSPLANTED | {"theirs": 90}
        assert [commit.id for commit in repo.log("main")][3] == theirs.id
        assert head.id == repo.commit("main").id
        assert not {c.id for c in repo.log("main", limit=3)} & {c.id for c in repo.log("dev", limit=3)}

    def test_each_keeps_what_was_said_of_it(self, world: World) -> None:
        elsewhere(world)
        repo = repository(world)
        repo.transplant(THREE, "main")
        said = [(c.message, c.committer, dict(c.metadata)) for c in repo.log("main", limit=3)]
        assert said == [("three", "", {}), ("two", "bob", {}), ("one", "ann", {"ticket": "7"})]

    def test_each_holds_its_own_step(self, world: World) -> None:
        elsewhere(world)
        repo = repository(world)
        repo.transplant(THREE, "main")
        for mine, theirs in (("main", "dev"), ("main~1", "dev~1"), ("main~2", "dev~2")):
            steps = [[(c.path, c.kind) for c in repo.diff(f"{ref}~1", ref)] for ref in (mine, theirs)]
            assert steps[0] == steps[1] != []

    def test_wrong_order(self, world: World) -> None:
        """Named, and nothing is done."""
        for refs in (["dev", "dev~1"], ["dev~2", "dev"], ["dev", "dev"]):
            with pytest.raises(InvalidInput, match="oldest first"):
                repository(world).transplant(refs, "main")
        assert messages(world) == ["begin"]

    def test_unknown_commit_and_unknown_branch(self, world: World) -> None:
        repo = repository(world)
        with pytest.raises(NotFound) as raised:
            repo.transplant(["dev~1", "f" * 64], "main")
        assert raised.value.kind in (Kind.CommitNotFound, Kind.RefNotFound)
        with pytest.raises(NotFound) as raised:
            repo.transplant(["dev"], "nowhere")
        assert raised.value.kind is Kind.BranchNotFound
        assert messages(world) == ["begin"]

    @pytest.mark.parametrize("refs", [[], "dev"])
    def test_no_list_of_commits(self, world: World, refs: list[str] | str) -> None:
        with pytest.raises(InvalidInput, match="must be a list"):
            repository(world).transplant(refs, "main")

    def test_a_root_commit(self, world: World) -> None:
        """It has no parent to be compared with."""
        root = list(repository(world).log("main"))[-1]
        with pytest.raises(InvalidInput, match="has 0 parents"):
            repository(world).transplant([root.id], "dev")

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_onto_their_own_base_it_is_a_fast_forward(self, world: World, count: int) -> None:
        repo = repository(world)
        head = repo.transplant(THREE[:count], "main")
        assert head.id == repo.commit("main").id == repo.commit(THREE[count - 1]).id
        world.branch().transact([Put("later", entry(1))], message="later")
        assert messages(world)[1:] == ["three", "two", "one", "begin"][3 - count :]

    def test_a_fast_forward_does_not_bring_other_histories(self, world: World) -> None:
        """A merge commit on the very base is repeated as a commit of one parent."""
        repo = repository(world)
        work = repo.create_branch("work", "main")
        repo.merge("dev", "work", message="merged")
        head = repo.transplant(["work"], "main")
        assert (head.message, head.parents) == ("merged", (repo.commit("main~1").id,))
        assert at_head(world) == TRANSPLANTED
        assert work.record().commit_id != head.id

    def test_commits_that_change_nothing_here_are_skipped(self, world: World) -> None:
        repo = repository(world)
        world.branch().transact([Remove("k2")], message="the same as three")
        repo.cherry_pick("dev~2", "main")
        repo.transplant(THREE, "main")
        assert messages(world) == ["two", "one", "the same as three", "begin"]

    def test_all_of_them_change_nothing_here(self, world: World) -> None:
        """An error as for a commit, where Nessie gives the branch as it is: a caller who wants that catches it."""
        elsewhere(world)
        repo = repository(world)
        head = repo.transplant(THREE, "main")
        with pytest.raises(NoChanges) as raised:
            repo.transplant(THREE, "main")
        assert raised.value.details["commit"] == head.id == repo.commit("main").id

    def test_a_conflict_changes_nothing(self, world: World) -> None:
        """Also where the first of several commits would have fitted."""
        branch = world.branch()
        branch.transact([update(branch, "k1", 50)], message="theirs")
        with pytest.raises(Conflict) as raised:
            repository(world).transplant(THREE, "main")
        assert raised.value.kind is Kind.MergeConflict
        assert [conflict.path for conflict in raised.value.details["conflicts"]] == ["k1"]
        assert messages(world) == ["theirs", "begin"]

    @pytest.mark.parametrize(("strategy", "there"), [("source", False), ("destination", True)])
    def test_a_strategy_decides(self, world: World, strategy: str, there: bool) -> None:
        branch = world.branch()
        branch.transact([update(branch, "k1", 50)], message="theirs")
        repository(world).transplant(THREE, "main", strategy=strategy)
        assert ("k1" in at_head(world), "b" in at_head(world)) == (there, True)

    @pytest.mark.parametrize(
        "stage",
        [
            lambda branch: branch.stage("beside", entry(1)),
            lambda branch: branch.remove_many(["absent"]),
            lambda branch: branch.remove_prefix("absent/"),
            lambda branch: branch.reset("absent/"),
            compact_a_change,
        ],
    )
    def test_a_dirty_branch(self, world: World, stage: Callable[[Branch], object]) -> None:
        stage(world.branch())
        repo = repository(world)
        with pytest.raises(DirtyBranch):
            repo.transplant(THREE, "main")
        with pytest.raises(DirtyBranch):
            repo.cherry_pick("dev", "main")
        with pytest.raises(DirtyBranch):
            repo.revert("main", "main")
        assert messages(world) == ["begin"]

    def test_a_compacted_tree_without_a_difference(self, world: World) -> None:
        """Is not dirty, and does not hide what was replayed."""
        branch = world.branch()
        branch.stage("k1", branch.get("k1"))
        branch.compact()
        assert branch.record().compacted_metarange is not None
        repository(world).transplant(THREE, "main")
        assert shown(branch) == at_head(world) == TRANSPLANTED

    def test_one_swap_for_all(self, world: World) -> None:
        elsewhere(world)
        kv = Interrupted(world.kv)
        repository(world, kv).transplant(THREE, "main")
        assert kv.met == 1


class TestRaces:
    """Something else happens between check and swap, or the answer is lost."""

    def test_another_commit(self, world: World) -> None:
        kv = Interrupted(world.kv, lambda: elsewhere(world))
        repository(world, kv).transplant(THREE, "main")
        assert messages(world) == ["three", "two", "one", "theirs", "begin"]
        assert at_head(world) == TRANSPLANTED | {"theirs": 90}

    def test_another_commit_in_conflict(self, world: World) -> None:
        kv = Interrupted(world.kv, lambda: elsewhere(world, "b"))
        with pytest.raises(Conflict):
            repository(world, kv).transplant(THREE, "main")
        assert messages(world) == ["b", "begin"]

    def test_a_name_means_what_it_meant_at_the_beginning(self, world: World) -> None:
        """The head of a branch is reverted on that branch: not what came in between."""
        elsewhere(world, "wrong")
        kv = Interrupted(world.kv, lambda: elsewhere(world, "right"))
        repository(world, kv).revert("main", "main", message="undo")
        assert messages(world) == ["undo", "right", "wrong", "begin"]
        assert {"wrong", "right"} & set(at_head(world)) == {"right"}

    def test_a_write_after_the_check_stays_on_top(self, world: World) -> None:
        elsewhere(world)
        kv = Interrupted(world.kv, lambda: world.branch().stage("k1", entry(60)))
        repository(world, kv).transplant(THREE, "main")
        assert kv.met == 1
        branch = world.branch()
        assert ("k1" in at_head(world), shown(branch)["k1"]) == (False, 60)
        branch.commit("next")
        assert at_head(world) == TRANSPLANTED | {"theirs": 90, "k1": 60}

    @pytest.mark.parametrize("forward", [False, True])
    @pytest.mark.parametrize(
        ("fault", "sent"),
        [(LoseAnswer(), 1), (LoseRequest(), 1), *[(Late(calls), sent) for calls, sent in late_swaps()]],
    )
    def test_the_answer_is_lost(self, world: World, fault: Fault, sent: int, forward: bool) -> None:
        """One replay, whether the swap had happened, had not, or happens while it is tried again."""
        if not forward:
            elsewhere(world)
        kv = failing_swap(world.kv, fault, *[LoseRequest()] * (sent - 1))
        head = repository(world, kv).transplant(THREE, "main")
        for _ in range(15):
            kv.get(b"nothing", b"waits")
        assert repository(world).commit("main").id == head.id
        assert messages(world) == ["three", "two", "one", *([] if forward else ["theirs"]), "begin"]

    def test_a_revert_whose_answer_is_lost_is_done_once(self, world: World) -> None:
        """Else it would be reverted itself, or find nothing to change."""
        kv = failing_swap(world.kv, Late(4 * LOST_ANSWERS - 3), *[LoseRequest()] * (LOST_ANSWERS - 1))
        repository(world, kv).revert("dev", "dev", message="undo")
        assert [c.message for c in repository(world).log("dev", limit=3)] == ["undo", "three", "two"]

    def test_the_store_stays_silent(self, world: World) -> None:
        silent: list[bool] = []

        def plan(call: StoreCall, _: int) -> LoseAnswer | LoseRequest | None:
            if silent:
                return LoseRequest()
            if not swaps_branch(call):
                return None
            silent.append(True)
            return LoseAnswer()

        with pytest.raises(OutcomeUnknown) as raised:
            repository(world, Faulty(world.kv, plan)).transplant(THREE, "main")
        assert raised.value.details["commit"] == repository(world).commit("main").id


class TestIdempotency:
    """A key names the call."""

    def test_the_call_again(self, world: World) -> None:
        """Also after others; the head that the first call made is given."""
        elsewhere(world)
        first = repository(world).transplant(THREE, "main", idempotency_key="run/step")
        elsewhere(world, "after")
        again = repository(world).transplant(THREE, "main", idempotency_key="run/step")
        assert again.id == first.id
        assert messages(world) == ["after", "three", "two", "one", "theirs", "begin"]

    def test_with_a_key_there_is_no_fast_forward(self, world: World) -> None:
        """The commits carry the key, so that the call is found whatever its refs mean by then."""
        repo = repository(world)
        first = repo.transplant(["dev~2", "dev~1"], "main", idempotency_key="run/step")
        assert first.id != repo.commit("dev~1").id
        assert repo.transplant(["dev~1", "dev"], "main", idempotency_key="run/step").id == first.id
        assert messages(world) == ["two", "one", "begin"]

    def test_cherry_pick_and_revert(self, world: World) -> None:
        repo = repository(world)
        picked = repo.cherry_pick("dev", "main", idempotency_key="pick")
        undone = repo.revert("main", "main", idempotency_key="undo")
        assert repo.cherry_pick("dev", "main", idempotency_key="pick").id == picked.id
        assert repo.revert("main", "main", idempotency_key="undo").id == undone.id
        assert len(messages(world)) == 3

    def test_a_key_of_another_branch(self, world: World) -> None:
        repo = repository(world)
        repo.cherry_pick("dev", "main", idempotency_key="k")
        with pytest.raises(InvalidInput, match="another branch"):
            repo.revert("dev", "dev", idempotency_key="k")
