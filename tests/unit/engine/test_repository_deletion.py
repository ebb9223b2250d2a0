"""The hand-over of a deleted repository to the cleaner, whatever the entry's state and whoever else is at work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import NotFound, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.model.entities import DeletedRepository, DeletedState, Repository
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.world import World

NAME = RepositoryId("repo")


def half_deleted(world: World, state: DeletedState) -> Repository:
    """The repository is `deleting`, and its entry in some state."""
    uid = world.graveler().repository("repo")._record.uid
    kv = Interposed(world.kv)
    kv.fail[3] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).delete_repository("repo")
    held = repositories.find(world.kv, NAME)
    assert held is not None
    assert held.value.uid == uid
    enter(world, held.value, state)
    return held.value


def enter(world: World, repo: Repository, state: DeletedState, nonce: str = "theirs") -> None:
    entry = DeletedRepository(repository=repo, state=state, nonce=Nonce(nonce), since=world.clock.now())
    access.write(world.kv, keys.deleted_repository(repo.id, repo.uid), entry)


def entry_of(world: World, repo: Repository) -> DeletedRepository:
    held = access.read(world.kv, keys.deleted_repository(repo.id, repo.uid))
    assert held is not None
    return held.value


def before_each_call(world: World, others: Callable[[World], object]) -> list[World]:
    """Copies of the world in which others acted before the n-th call of a deletion that then ended."""
    ended: list[World] = []
    for number in range(40):
        copied = world.fork()
        kv = Interposed(copied.kv)
        kv.before[number] = lambda copied=copied: others(copied)
        copied.graveler(kv).delete_repository("repo")
        if kv.before:
            return ended
        ended.append(copied)
    raise AssertionError("the deletion does not end")


def test_a_restoring_entry_is_deleted_again(world: World) -> None:
    repo = half_deleted(world, DeletedState.RESTORING)
    world.graveler().delete_repository("repo")
    assert entry_of(world, repo).state is DeletedState.DELETED
    assert repositories.find(world.kv, NAME) is None


def test_an_entry_that_changes_meanwhile_is_looked_at_anew(world: World) -> None:
    """Another deletion takes it back, and another undeleter takes it up, between any two calls."""
    repo = half_deleted(world, DeletedState.RESTORING)

    def others(at: World) -> None:
        for nonce, state in (("1", DeletedState.DELETED), ("2", DeletedState.RESTORING)):
            enter(at, repo, state, nonce)

    ended = before_each_call(world, others)
    assert len(ended) > 3
    assert all(repositories.find(at.kv, NAME) is None for at in ended)


def test_a_deletion_that_is_interrupted_says_that_it_has_begun() -> None:
    """The store goes away between any two calls: either nothing has happened, or the answer does not say so."""
    told = []
    for number in range(10):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        kv.fail = dict.fromkeys(range(number, 100), unavailable())
        try:
            world.graveler(kv).delete_repository("repo")
        except Unavailable:
            assert world.graveler().repository("repo").id == "repo"
            told.append("nothing")
        except OutcomeUnknown:
            with pytest.raises(NotFound):
                world.graveler().repository("repo")
            world.graveler().delete_repository("repo")
            told.append("begun")
        else:
            break
        world.graveler().create_repository("repo2", world.namespace("second"))
    assert set(told) == {"nothing", "begun"}


def test_a_claimed_entry_is_waited_for(world: World) -> None:
    """The cleaner that claimed it removes the record itself."""
    repo = half_deleted(world, DeletedState.PURGING)

    kv = Interposed(world.kv)

    def cleaner() -> None:
        held = repositories.find(world.kv, NAME)
        assert held is not None
        access.remove(world.kv, keys.repository(NAME), held)

    kv.before[6] = cleaner
    world.graveler(kv).delete_repository("repo")
    assert not kv.before
    assert "delete_if" not in kv.verbs
    assert repositories.find(world.kv, NAME) is None
    assert entry_of(world, repo).state is DeletedState.PURGING


def test_a_claimed_entry_is_not_waited_for_for_ever(world: World) -> None:
    """A cleaner that went under holds it: the record stays, and so does the entry."""
    repo = half_deleted(world, DeletedState.PURGING)
    with pytest.raises(SlowDown):
        world.graveler().delete_repository("repo")
    held = repositories.find(world.kv, NAME)
    assert held is not None
    assert held.value == repo
    assert entry_of(world, repo).state is DeletedState.PURGING
