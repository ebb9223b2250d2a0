"""Removals: without a tombstone where nothing below the staged entry shows through, by one everywhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.codec.staged_record import encode_tombstone
from graveler_core.engine.staging.remove import FEW_PATHS, remove
from graveler_core.errors import Conflict, CorruptData, NoChanges, NotFound, OutcomeUnknown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import SegmentLayer
from graveler_core.model.operations import Put
from graveler_core.records import layout as keys
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import World, entry

MAIN = (RepositoryId("repo"), BranchId("main"))


def held(world: World, name: str = "main") -> dict[str, bool]:
    """What stands in the staging token of a branch: by path, whether it is an entry."""
    token = world.branch(name=name).record().staging_token
    rows = world.kv.scan(keys.staging(token), prefix=keys.STAGED)
    return {row.key[len(keys.STAGED) :].decode(): row.value != encode_tombstone() for row in rows}


def shown(branch: Branch) -> list[str]:
    return [item.path for item in branch.list()]


@pytest.fixture
def main(world: World, kv: Interposed) -> Branch:
    """A branch with `old` committed, seen by a process whose calls are counted."""
    branch = world.branch(kv)
    branch.stage("old", entry(1))
    branch.commit("first")
    return branch


def test_what_was_never_committed_leaves_nothing(world: World, main: Branch) -> None:
    paths = [f"new/{number}" for number in range(100)]
    for number, path in enumerate(paths):
        main.stage(path, entry(number))
    for path in paths:
        main.remove(path)
    assert held(world) == {}
    assert list(main.uncommitted()) == []
    assert shown(main) == shown(world.branch()) == ["old"]
    with pytest.raises(NotFound):
        main.get(paths[0])
    for end in (lambda: main.commit("nothing"), main.compact):
        with pytest.raises(NoChanges):
            end()
    assert main.record().sealed_tokens == ()
    world.graveler().repository("repo").create_branch("dev", "main")
    world.branch(name="dev").stage("b", entry(7))
    world.branch(name="dev").commit("beside")
    world.graveler().repository("repo").merge("dev", into="main")  # refused on a branch with any record
    assert shown(main) == ["b", "old"]


def test_what_is_committed_gets_a_tombstone(world: World, main: Branch) -> None:
    main.stage("old", entry(2))
    main.remove("old")
    assert held(world) == {"old": False}
    assert [change.path for change in main.uncommitted()] == ["old"]
    main.commit("without")
    assert shown(main) == []


def test_what_is_not_staged_gets_a_tombstone(world: World, main: Branch) -> None:
    """A tombstone too: it is no longer an entry, and tombstones are never deleted."""
    for _ in range(2):
        main.remove("never")
        assert held(world) == {"never": False}
    main.stage("never", entry(2))
    main.remove("never")
    assert held(world) == {}


def test_the_tree_below_decides(world: World, main: Branch) -> None:
    """What the compacted tree holds needs a tombstone; what it has removed from the head needs none."""
    main.stage("new", entry(2))
    main.remove("old")
    main.compact()
    for path in ("new", "old"):
        main.stage(path, entry(3))
        main.remove(path)
    assert held(world) == {"new": False}
    assert shown(main) == []
    assert [change.path for change in main.uncommitted()] == ["old"]
    main.commit("without")
    assert shown(main) == []
    assert [item.path for item in world.graveler().repository("repo").at("main@").list()] == []


@pytest.mark.parametrize(
    "below",
    [
        lambda main: main.stage_many(table({"p/new": 8})),
        lambda main: main.remove_prefix("p/"),
        lambda main: main.reset("p/"),
    ],
    ids=["entry", "removal", "restoration"],
)
def test_sealed_layers_below_ask_for_a_tombstone(world: World, main: Branch, below: Callable[[Branch], None]) -> None:
    below(main)
    main.stage("p/new", entry(2))
    main.remove("p/new")
    assert held(world) == {"p/new": False}
    assert shown(main) == ["old"]


def test_a_list_goes_whole_or_gets_tombstones(world: World, kv: Interposed, main: Branch) -> None:
    stores = world.stores(kv)
    main.stage("a", entry(2))
    main.stage("b", entry(3))
    remove(stores, *MAIN, [])
    remove(stores, *MAIN, ["a", "b", "a"])
    assert held(world) == {}
    main.stage("a", entry(2))
    remove(stores, *MAIN, ["a", "old"])
    assert held(world) == {"a": False, "old": False}


def test_many_go_at_once(world: World, main: Branch) -> None:
    few = [f"new/{number}" for number in range(FEW_PATHS)]
    for path in few:
        main.stage(path, entry(2))
    main.remove_many(few)
    assert held(world) == {}
    assert main.record().sealed_tokens == ()
    for path in [*few, "one more"]:
        main.stage(path, entry(2))
    main.remove_many([*few, "one more"])
    assert len(main.record().sealed_tokens) == 2
    assert not isinstance(main.record().sealed_tokens[0], SegmentLayer)
    assert shown(main) == ["old"]


def test_many_are_gone_or_none(world: World, kv: Interposed, main: Branch) -> None:
    """Somebody changes one of them between the look and the deletion."""
    for path in ("a", "b"):
        main.stage(path, entry(2))
    kv.reset()
    kv.before[1] = lambda: world.branch().stage("b", entry(3))
    main.remove_many(["a", "b"])
    assert kv.verbs[:2] == ["get_many", "delete_together"]
    assert shown(main) == ["old"]
    assert len(main.record().sealed_tokens) == 2


def test_a_store_that_cannot_judge_and_delete_gets_tombstones(world: World, kv: Interposed) -> None:
    world.repository("plain")
    branch = world.branch(PlainStore(kv), repo="plain")
    branch.stage("new", entry(2))
    kv.reset()
    branch.remove("new")
    assert kv.verbs == ["set", "get", "get"]
    assert shown(branch) == []


def _transacted(repo: Repository, branch: Branch) -> None:
    """A transaction on the path itself, after somebody else has removed it."""
    branch.remove("new")
    branch.transact([Put("new", entry(4))], message="transacted")


def _again(repo: Repository, branch: Branch) -> None:
    repo.delete_branch("work")
    repo.create_branch("work", "main")
    branch.stage("new", entry(2))


OTHERS: dict[str, Callable[[Repository, Branch], object]] = {
    "stages the same": lambda repo, branch: branch.stage("new", entry(2)),
    "stages another": lambda repo, branch: branch.stage("new", entry(3)),
    "stages elsewhere": lambda repo, branch: branch.stage("other", entry(3)),
    "removes it": lambda repo, branch: branch.remove("new"),
    "commits": lambda repo, branch: branch.commit("others"),
    "compacts": lambda repo, branch: branch.compact(),
    "resets": lambda repo, branch: branch.reset(),
    "transacts": _transacted,
    "creates the branch anew": _again,
    "writes in bulk": lambda repo, branch: branch.stage_many(table({"new": 5, "other": 6})),
}


@pytest.mark.parametrize("call", [0, 1])
@pytest.mark.parametrize("other", OTHERS)
def test_others_come_between(world: World, kv: Interposed, main: Branch, other: str, call: int) -> None:
    """Whatever others do before the look or before the deletion: they did it before, and the removal counts."""
    repo = world.graveler().repository("repo")
    repo.create_branch("work", "main")
    world.branch(name="work").stage("new", entry(2))
    mine = world.branch(kv, "work")
    assert mine.get("new").size == 2
    kv.reset()
    kv.before[call] = lambda: OTHERS[other](repo, world.branch(name="work"))
    mine.remove("new")
    assert "new" not in shown(world.branch(name="work"))
    assert "old" in shown(world.branch(name="work"))
    with pytest.raises(NotFound):
        mine.get("new")


@pytest.mark.parametrize(("call", "left"), [(0, []), (1, ["new"])], ids=["before the look", "after it"])
def test_the_repository_is_created_anew(world: World, kv: Interposed, main: Branch, call: int, left: list[str]) -> None:
    """A removal that has seen the old repository comes before its deletion; else it removes from the new one."""
    main.stage("new", entry(2))
    kv.reset()

    def replaced() -> None:
        world.graveler().delete_repository("repo")
        world.graveler().create_repository("repo", world.namespace("anew"))
        world.branch().stage("new", entry(3))

    kv.before[call] = replaced
    main.remove("new")
    assert shown(world.branch()) == left


@pytest.mark.parametrize("happened", [True, False])
def test_a_lost_answer_is_an_unknown_outcome(world: World, kv: Interposed, main: Branch, happened: bool) -> None:
    main.stage("new", entry(2))
    kv.reset()
    kv.lose[1] = happened
    with pytest.raises(OutcomeUnknown):
        main.remove("new")
    assert kv.verbs == ["get_many", "delete_together"]
    assert held(world) == ({} if happened else {"new": True})
    main.remove("new")
    assert shown(main) == ["old"]


@pytest.mark.parametrize("call", [0, 1])
def test_not_removed_is_said_so(world: World, kv: Interposed, main: Branch, call: int) -> None:
    main.stage("new", entry(2))
    kv.reset()
    kv.fail[call] = unavailable()
    with pytest.raises(Unavailable):
        main.remove("new")
    assert held(world) == {"new": True}


def test_a_tree_that_cannot_be_read_hinders_nobody(world: World, main: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old copy of the record may name one that is swept."""

    def missing(*_: object) -> None:
        raise CorruptData("the node is gone")

    main.stage("new", entry(2))
    monkeypatch.setattr("graveler_core.engine.staging.remove.identities_of_few", missing)
    main.remove("new")
    assert held(world) == {"new": False}


def test_a_transaction_is_not_hidden_by_what_was_removed(world: World, main: Branch) -> None:
    """After a removal without a tombstone nothing is staged at the path, and a transaction may have it."""
    main.stage("new", entry(2))
    with pytest.raises(Conflict):
        main.transact([Put("new", entry(4))], message="staged")
    main.remove("new")
    main.transact([Put("new", entry(4))], message="free")
    assert shown(main) == ["new", "old"]
