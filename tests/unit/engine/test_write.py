"""Single writes: acknowledged where they count, unknown where nobody can tell."""

from __future__ import annotations

import pytest

from graveler_core.engine.remove import remove
from graveler_core.errors import NotFound, OutcomeUnknown, Unavailable
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import World, entry


def test_a_repository_created_anew_is_never_mistaken_for_the_old_one(world: World, kv: Interposed) -> None:
    """A writer that knows the old uid writes again, into the new repository, before it acknowledges."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    g = world.graveler()
    g.delete_repository("repo")
    g.create_repository("repo", world.namespace("new"))
    mine.stage("b", entry(2))
    assert [item.path for item in world.branch().list()] == ["b"]
    put = mine.put("c", b"content")
    assert world.branch().read("c") == b"content"
    assert put.path == "c"


def test_a_repository_that_is_gone_takes_nothing(world: World, kv: Interposed) -> None:
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    world.graveler().delete_repository("repo")
    with pytest.raises(NotFound):
        mine.stage("b", entry(2))
    with pytest.raises(NotFound):
        mine.get("a")


def test_a_branch_created_anew_is_never_mistaken_for_the_old_one(world: World, kv: Interposed) -> None:
    repo = world.graveler().repository("repo")
    repo.create_branch("dev", "main")
    mine = world.branch(kv, "dev")
    mine.stage("a", entry(1))
    repo.delete_branch("dev")
    repo.create_branch("dev", "main")
    mine.stage("b", entry(2))
    assert [item.path for item in repo.branch("dev").list()] == ["b"]


def test_written_but_not_confirmed_is_unknown(world: World, kv: Interposed) -> None:
    """The closing re-read fails: the write may count, so the answer must not be that nothing happened."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.fail[1] = unavailable()
    with pytest.raises(OutcomeUnknown):
        mine.stage("b", entry(2))
    assert world.branch().get("b").size == 2


@pytest.mark.parametrize("happened", [True, False])
def test_a_lost_answer_and_then_no_answer_at_all_is_unknown(world: World, kv: Interposed, happened: bool) -> None:
    """A store that goes down takes the answer of the write with it, and the closing re-read after it."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.lose[0] = happened
    kv.fail[1] = unavailable()
    with pytest.raises(OutcomeUnknown):
        mine.stage("b", entry(2))


def test_half_of_several_is_unknown(world: World, kv: Interposed) -> None:
    """On a store that writes them one by one, the second does not arrive."""
    world.branch().stage("b", entry(2))
    stores = world.stores(PlainStore(kv))
    remove(stores, RepositoryId("repo"), BranchId("main"), ["c"])
    kv.reset()
    kv.fail[1] = unavailable()
    with pytest.raises(OutcomeUnknown):
        remove(stores, RepositoryId("repo"), BranchId("main"), ["b", "c"])
    with pytest.raises(NotFound):
        world.branch().get("b")


def test_not_written_is_said_so(world: World, kv: Interposed) -> None:
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    kv.reset()
    kv.fail[0] = unavailable()
    with pytest.raises(Unavailable):
        mine.stage("b", entry(2))
    with pytest.raises(NotFound):
        world.branch().get("b")


def test_an_error_of_a_stale_record_is_not_raised(world: World, kv: Interposed) -> None:
    """The write went wrong where it no longer belongs; where it belongs it goes right."""
    mine = world.branch(kv)
    mine.stage("a", entry(1))
    world.branch().commit("other")
    kv.reset()
    kv.fail[0] = unavailable()
    mine.stage("b", entry(2))
    assert world.branch().get("b").size == 2
