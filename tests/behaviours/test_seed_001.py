"""Seed 001, flow by flow: each step, and what its failure leaves. Named after the step of the flow of step 2."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from graveler_core.engine.cleaning import CleaningPlan
from graveler_core.errors import (
    Conflict,
    GravelerError,
    Kind,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    Unavailable,
)
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Item, Predicate
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.entities import DeletedState, RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.cleaning.places import cleaned, deleted, of_repository
from tests.unit.engine.world import World, entry

NAME = RepositoryId("repo")
BEFORE, AFTER = timedelta(seconds=110), timedelta(seconds=130)
"""Of the two minutes in which a creation ends."""


class Refusing(Passing):
    """A store that does not take writes of some keys."""

    def __init__(self, world: World, *parts: str) -> None:
        super().__init__(world.kv)
        self.parts = [part.encode() for part in parts]

    def refuse(self, partition: bytes, key: bytes) -> None:
        if any(part in partition + b"/" + key for part in self.parts):
            raise Unavailable(f"{key.decode()} cannot be written")

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self.refuse(partition, key)
        return self.inner.set_if(partition, key, value, predicate)

    def set_many(self, items: list[Item]) -> None:  # type: ignore[override]
        for partition, key, _ in items:
            self.refuse(partition, key)
        super().set_many(items)

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self.refuse(partition, key)
        self.inner.delete_if(partition, key, predicate)


@pytest.fixture
def empty() -> World:
    return World()


def state(world: World) -> RepositoryState | None:
    held = repositories.find(world.kv, NAME)
    return None if held is None else held.value.state


def put_state(world: World, state: RepositoryState, age: timedelta = timedelta(0)) -> None:
    held = repositories.find(world.kv, NAME)
    assert held is not None
    record = held.value.model_copy(update={"state": state, "since": world.clock.now() - age})
    access.write(world.kv, keys.repository(NAME), record)


def create(world: World, *refused: str) -> Repository:
    return world.graveler(Refusing(world, *refused)).create_repository("repo", world.namespace("repo"))


def fails(call: Callable[[], object], error: type[GravelerError], kind: Kind | None = None) -> None:
    with pytest.raises(error) as e:
        call()
    assert kind is None or e.value.kind is kind


# GetRepository


def test_get_step_1_not_found(empty: World) -> None:
    fails(lambda: empty.graveler().repository("repo"), NotFound, Kind.RepositoryNotFound)


def test_get_step_1_active_is_returned(world: World) -> None:
    assert world.graveler().repository("repo").id == "repo"


def test_get_step_1_initial_within_two_minutes_is_not_found(world: World) -> None:
    put_state(world, RepositoryState.INITIAL, BEFORE)
    fails(lambda: world.graveler().repository("repo"), NotFound, Kind.RepositoryNotFound)
    assert state(world) is RepositoryState.INITIAL


def test_get_step_1_initial_for_longer_is_set_to_deleting(world: World) -> None:
    put_state(world, RepositoryState.INITIAL, AFTER)
    fails(lambda: world.graveler().repository("repo"), NotFound, Kind.RepositoryDeleting)
    assert state(world) is RepositoryState.DELETING


def test_get_step_2_deleting_is_an_error(world: World) -> None:
    put_state(world, RepositoryState.DELETING)
    fails(lambda: world.graveler().repository("repo"), NotFound, Kind.RepositoryDeleting)


# CreateRepository


def test_create_step_2_repository_exists(world: World) -> None:
    fails(lambda: create(world), NotUnique, Kind.RepositoryExists)


@pytest.mark.parametrize("age", [BEFORE, AFTER])
def test_create_step_2_finds_one_in_initial(world: World, age: timedelta) -> None:
    """Within two minutes the name is taken; after that somebody's creation has failed, and says so."""
    put_state(world, RepositoryState.INITIAL, age)
    if age == BEFORE:
        fails(lambda: create(world), NotUnique, Kind.RepositoryExists)
        assert state(world) is RepositoryState.INITIAL
    else:
        fails(lambda: create(world), NotFound, Kind.RepositoryDeleting)
        assert state(world) is RepositoryState.DELETING


def test_create_step_2_fails_record_cannot_be_written(empty: World) -> None:
    fails(lambda: create(empty, "repos/repo"), Unavailable)
    assert state(empty) is None
    assert create(empty).id == "repo"


@pytest.mark.parametrize("step", ["commits/", "branches/main"], ids=["3_first_commit", "4_default_branch"])
def test_create_step_3_or_4_fails_repository_stays_initial(empty: World, step: str) -> None:
    fails(lambda: create(empty, step), Unavailable)
    assert state(empty) is RepositoryState.INITIAL
    fails(lambda: empty.graveler().repository("repo"), NotFound, Kind.RepositoryNotFound)
    empty.clock.sleep(AFTER.total_seconds())
    empty.graveler().delete_repository("repo")
    assert cleaned(empty).repositories == 1
    assert create(empty).id == "repo"


def test_create_last_step_fails_repository_is_not_visible(empty: World) -> None:
    kv = Refusing(empty)
    writes = []

    def refuse(partition: bytes, key: bytes) -> None:
        writes.append(key)
        if writes.count(b"repos/repo") == 2:
            raise Unavailable("cannot be activated")

    kv.refuse = refuse  # type: ignore[method-assign]
    fails(lambda: empty.graveler(kv).create_repository("repo", empty.namespace("repo")), Unavailable)
    assert state(empty) is RepositoryState.INITIAL
    assert not list(empty.graveler().list_repositories())


def test_create_last_step_comes_too_late(empty: World) -> None:
    """Somebody has declared the creation failed."""
    kv = Refusing(empty)
    real = kv.set_if

    def slow(partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if key == b"branches/main":
            empty.clock.sleep(AFTER.total_seconds())
            fails(lambda: empty.graveler().repository("repo"), NotFound, Kind.RepositoryDeleting)
        return real(partition, key, value, predicate)

    kv.set_if = slow  # type: ignore[method-assign]
    fails(lambda: empty.graveler(kv).create_repository("repo", empty.namespace("repo")), Conflict, Kind.LostRace)
    assert state(empty) is RepositoryState.DELETING


# CreateBareRepository


def test_create_bare_has_neither_branch_nor_commit(empty: World) -> None:
    repo = empty.graveler().create_bare_repository("repo", empty.namespace("repo"))
    assert state(empty) is RepositoryState.ACTIVE
    assert not list(repo.branches())
    assert not list(access.scan(empty.kv, keys.commits(repo._record)))


def test_create_bare_step_1_repository_exists(world: World) -> None:
    fails(
        lambda: world.graveler().create_bare_repository("repo", world.namespace("b")), NotUnique, Kind.RepositoryExists
    )


def test_create_bare_is_not_what_a_failed_creation_leaves(empty: World) -> None:
    fails(lambda: create(empty, "commits/"), Unavailable)
    fails(lambda: empty.graveler().repository("repo"), NotFound, Kind.RepositoryNotFound)


# DeleteRepository


def test_delete_step_1_not_found(empty: World) -> None:
    fails(lambda: empty.graveler().delete_repository("repo"), NotFound, Kind.RepositoryNotFound)


def test_delete_step_2_fails_state_cannot_be_written(world: World) -> None:
    fails(lambda: world.graveler(Refusing(world, "repos/repo")).delete_repository("repo"), Unavailable)
    assert world.graveler().repository("repo").id == "repo"


def test_delete_step_3_fails_entry_cannot_be_written(world: World) -> None:
    """The repository is out of reach, its name not free; a retry is the only thing to do."""
    kv = Refusing(world, "graveler_deleted/repo/repo")
    fails(lambda: world.graveler(kv).delete_repository("repo"), OutcomeUnknown)
    assert state(world) is RepositoryState.DELETING
    fails(lambda: world.graveler().repository("repo"), NotFound, Kind.RepositoryDeleting)
    fails(lambda: create(world), NotFound, Kind.RepositoryDeleting)
    world.graveler().delete_repository("repo")
    assert state(world) is None


def test_delete_step_4_fails_record_cannot_be_removed(world: World) -> None:
    kv = Refusing(world)
    kv.delete_if = lambda partition, key, predicate: (_ for _ in ()).throw(  # type: ignore[method-assign]
        Unavailable("cannot be removed")
    )
    fails(lambda: world.graveler(kv).delete_repository("repo"), OutcomeUnknown)
    assert state(world) is RepositoryState.DELETING
    assert world.graveler().waiting().deleted == 1
    world.graveler().delete_repository("repo")
    assert state(world) is None


def test_delete_the_name_is_free_and_several_of_it_may_wait(world: World) -> None:
    for number in range(3):
        world.graveler().delete_repository("repo")
        world.graveler().create_repository("repo", world.namespace(f"again-{number}"))
    assert world.graveler().waiting().deleted == 3
    assert world.graveler().repository("repo").id == "repo"


# ListRepositories


@pytest.mark.parametrize("other", [RepositoryState.INITIAL, RepositoryState.DELETING])
def test_list_passes_by_all_that_is_not_active(world: World, other: RepositoryState) -> None:
    world.repository("zzz")
    put_state(world, other)
    assert [repo.id for repo in world.graveler().list_repositories()] == ["zzz"]


# Other operations


@pytest.mark.parametrize(
    ("other", "kind"),
    [(RepositoryState.INITIAL, Kind.RepositoryNotFound), (RepositoryState.DELETING, Kind.RepositoryDeleting)],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda repo: repo.create_branch("dev", "main"),
        lambda repo: repo.delete_branch("dev"),
        lambda repo: repo.create_tag("v1", "main"),
        lambda repo: list(repo.branches()),
        lambda repo: repo.branch("main").stage("a", entry(1)),
        lambda repo: repo.branch("main").commit("x"),
        lambda repo: list(repo.branch("main").list()),
        lambda repo: repo.branch("main").compact(),
    ],
)
def test_other_operations_begin_with_get(
    world: World, other: RepositoryState, kind: Kind, call: Callable[[Repository], object]
) -> None:
    repo = world.graveler().repository("repo")
    put_state(world, other)
    fails(lambda: call(repo), NotFound, kind)


def test_other_operation_meets_a_deletion_what_it_made_is_out_of_reach(world: World) -> None:
    """A branch that is created when its repository has been deleted is nobody's, and goes with the rest."""
    kv = Refusing(world)
    repo = world.graveler(kv).repository("repo")
    real = kv.set_if

    def late(partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if key == b"branches/dev":
            world.graveler().delete_repository("repo")
            world.graveler().create_repository("repo", world.namespace("second"))
        return real(partition, key, value, predicate)

    kv.set_if = late  # type: ignore[method-assign]
    repo.create_branch("dev", "main")
    assert [branch.id for branch in world.graveler().repository("repo").branches()] == ["main"]
    assert cleaned(world).repositories == 1
    assert keys.partition(repo._record) not in world.kv._memory.partitions


# The cleaner


def test_cleaner_scans_the_deleted_and_empties_each(world: World) -> None:
    repos = [deleted(world)]
    world.repository("other")
    repos.append(deleted(world, "other"))
    assert cleaned(world).repositories == 2
    assert not [left for repo in repos for left in of_repository(world, repo)]


def test_cleaner_removes_the_entry_only_when_all_is_gone_and_passes_by_what_fails(world: World) -> None:
    failing = deleted(world)
    world.repository("other")
    other = deleted(world, "other")
    world.clock.sleep(601)

    class Stuck(Refusing):
        def drop_partition(self, partition: bytes) -> int:
            self.refuse(partition, b"")
            return super().drop_partition(partition)

    kv = Stuck(world, f"repo-{failing.uid}")
    done = world.graveler(kv).clean(undelete_within=timedelta(0))
    assert (done.repositories, [what for what, _ in done.failures]) == (1, [f"deleted repository repo/{failing.uid}"])
    assert not of_repository(world, other)
    (left,) = world.graveler().deleted_repositories()
    assert (left.repository.uid, left.state, left.emptying) == (failing.uid, DeletedState.PURGING, True)
    assert world.graveler().clean(undelete_within=timedelta(0)).repositories == 1


def test_cleaner_changes_what_stays_initial_for_too_long(empty: World) -> None:
    fails(lambda: create(empty, "branches/main"), Unavailable)
    empty.clock.sleep(AFTER.total_seconds())
    assert cleaned(empty, CleaningPlan()).deletions == 1
    assert state(empty) is None
    assert cleaned(empty, CleaningPlan()).repositories == 1
