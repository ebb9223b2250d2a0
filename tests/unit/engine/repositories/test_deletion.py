"""The hand-over of a deleted repository to the cleaner, whatever the entry's state and whoever else is at work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.engine.repositories import deletion
from graveler_core.errors import GravelerError, Kind, NotFound, OutcomeUnknown, PermissionDenied, Unavailable
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.interposed import Crash, Interposed, denied, unavailable
from tests.unit.engine.world import World

NAME = RepositoryId("repo")


def half_deleted(world: World, state: DeletedState) -> RepositoryRecord:
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


def enter(world: World, repo: RepositoryRecord, state: DeletedState, nonce: str = "theirs") -> None:
    entry = DeletedRepository(repository=repo, state=state, nonce=Nonce(nonce), since=world.clock.now())
    access.write(world.kv, keys.deleted_repository(repo.id, repo.uid), entry)


def entry_of(world: World, repo: RepositoryRecord) -> DeletedRepository:
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


def test_a_write_after_the_deletion_finds_no_repository(world: World) -> None:
    """The process has read the branch before. It does not write with what it remembers."""
    graveler = world.graveler()
    branch = graveler.repository("repo").branch("main")
    branch.put("a", b"content")
    graveler.delete_repository("repo")
    with pytest.raises(NotFound) as told:
        branch.put("b", b"content")
    assert told.value.kind is Kind.RepositoryNotFound


@pytest.mark.parametrize("lost", [False, True])
def test_a_write_after_a_deletion_with_another_process_finds_no_repository(world: World, lost: bool) -> None:
    """The other process has begun the deletion, or this one got no answer to its swap."""
    kv = Interposed(world.kv)
    graveler = world.graveler(kv)
    branch = graveler.repository("repo").branch("main")
    branch.put("a", b"content")
    if lost:
        kv.reset()
        kv.lose[1] = True
        kv.fail = dict.fromkeys(range(2, 100), unavailable())
        with pytest.raises(OutcomeUnknown):
            graveler.delete_repository("repo")
        assert kv.verbs[1] == "set_if"
        kv.reset()
    else:
        half_deleted(world, DeletedState.DELETED)
        graveler.delete_repository("repo")
    with pytest.raises(NotFound) as told:
        branch.put("b", b"content")
    assert told.value.kind is (Kind.RepositoryDeleting if lost else Kind.RepositoryNotFound)


def test_a_restoring_entry_is_deleted_again(world: World) -> None:
    repo = half_deleted(world, DeletedState.RESTORING)
    world.graveler().delete_repository("repo")
    assert entry_of(world, repo).state is DeletedState.DELETED
    assert repositories.find(world.kv, NAME) is None


@pytest.mark.parametrize("deletions", [0, 1], ids=["of a version that does not count deletions", "counted"])
@pytest.mark.parametrize("state", DeletedState)
def test_a_creation_that_was_overtaken_does_not_change_the_entry(
    world: World, state: DeletedState, deletions: int
) -> None:
    """Another run of a migration has completed the repository. It was deleted, and this run wakes up."""
    active = world.graveler().repository("repo")._record
    initial = active.model_copy(update={"state": RepositoryState.INITIAL})
    world.graveler().delete_repository("repo")
    before = entry_of(world, active)
    repo = before.repository.model_copy(update={"deletions": deletions})
    before = before.model_copy(update={"state": state, "repository": repo})
    access.write(world.kv, keys.deleted_repository(NAME, active.uid), before)
    deletion.leave_to_cleaner(world.stores(), initial)
    assert entry_of(world, active) == before
    if state is not DeletedState.PURGING:
        world.clock.sleep(121)
        assert world.graveler().undelete_repository("repo")._record.uid == active.uid


def test_an_entry_that_changes_meanwhile_is_looked_at_anew(world: World) -> None:
    """Another deletion takes it back, and another undeleter takes it up, between any two calls."""
    repo = half_deleted(world, DeletedState.RESTORING)

    def others(at: World) -> None:
        for nonce, state in (("1", DeletedState.DELETED), ("2", DeletedState.RESTORING)):
            enter(at, repo, state, nonce)

    ended = before_each_call(world, others)
    assert len(ended) > 3
    assert all(repositories.find(at.kv, NAME) is None for at in ended)


@pytest.mark.parametrize("refusal", [unavailable(), denied()], ids=["unavailable", "denied"])
def test_a_deletion_that_is_interrupted_says_that_it_has_begun(refusal: GravelerError) -> None:
    """The store goes away between any two calls: either nothing has happened, or the answer does not say so."""
    told = []
    for number in range(10):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        kv.fail = dict.fromkeys(range(number, 100), refusal)
        try:
            world.graveler(kv).delete_repository("repo")
        except (Unavailable, PermissionDenied):
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


def test_the_cleaner_that_claimed_the_entry_may_remove_the_record_itself(world: World) -> None:
    repo = half_deleted(world, DeletedState.PURGING)

    def cleaner(copied: World) -> None:
        held = repositories.find(copied.kv, NAME)
        if held is not None:
            access.remove(copied.kv, keys.repository(NAME), held)

    gone, ended = 0, 0
    for number in range(40):
        copied = world.fork()
        kv = Interposed(copied.kv)
        kv.before[number] = lambda copied=copied: cleaner(copied)
        try:
            copied.graveler(kv).delete_repository("repo")
        except NotFound:
            gone += 1
        assert repositories.find(copied.kv, NAME) is None
        assert entry_of(copied, repo).state is DeletedState.PURGING
        ended += 1
        if kv.before:
            break
    assert (gone, ended) == (1, 6)


def test_a_cleaner_that_goes_on_meanwhile_does_not_hold_a_deletion_up(world: World) -> None:
    """Its swap comes first: the deletion looks again, and finds that the entry says so already."""
    half_deleted(world, DeletedState.PURGING)

    def cleaner(copied: World) -> None:
        held = repositories.find(copied.kv, NAME)
        if held is None:
            return
        repo = held.value
        entry = entry_of(copied, repo).model_copy(update={"nonce": Nonce("theirs too"), "emptying": True})
        access.write(copied.kv, keys.deleted_repository(repo.id, repo.uid), entry)

    for copied in before_each_call(world, cleaner):
        assert repositories.find(copied.kv, NAME) is None
