"""Deleted repositories are emptied to the last row, and nothing that can be reached is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.repositories import deletion
from graveler_core.engine.staging import bulk
from graveler_core.errors import NotFound
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.cleaning.places import (
    AT_ONCE,
    WEEKS,
    claim_of,
    cleaned,
    count,
    deleted,
    entry_of,
    fill,
    of_repository,
    staged_files,
)
from tests.unit.engine.gone_buckets import WithoutBucket
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.world import World, entry

NAME = RepositoryId("repo")
YEAR = timedelta(days=365)


@pytest.fixture(params=[1, 1_000], ids=["files", "rows"], autouse=True)
def segment_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers as files and as key-value rows."""
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", request.param)


def put_entry(world: World, repo: RepositoryRecord, state: DeletedState, *, emptying: bool = False) -> None:
    found = DeletedRepository(
        repository=repo, state=state, nonce=Nonce("theirs"), since=world.clock.now(), emptying=emptying
    )
    access.write(world.kv, keys.deleted_repository(repo.id, repo.uid), found)


def state_of(world: World, repo: RepositoryRecord) -> DeletedState | None:
    entry = entry_of(world, repo)
    return None if entry is None else entry.state


@pytest.mark.usefixtures("all_partitions")
def test_nothing_is_left_of_a_deleted_repository(world: World) -> None:
    repo = deleted(world)
    assert len(of_repository(world, repo)) >= 3
    done = cleaned(world)
    assert (done.repositories, done.failures, done.next) == (1, [], None)
    assert done.layers >= 3
    assert not of_repository(world, repo)
    assert not staged_files(world)
    assert entry_of(world, repo) is None
    assert claim_of(world) is None
    assert not [name for name, _ in access.scan(world.kv, keys.COUNTS)]


def test_the_files_of_commits_and_of_users_stay(world: World) -> None:
    main = fill(world)
    main.put("file", b"content")
    kept = {blob.address for blob in world.blobs.at(world.namespace("repo")).list() if "staging/" not in blob.address}
    assert any(address.startswith("data/") for address in kept)
    world.graveler().delete_repository("repo")
    cleaned(world)
    assert {blob.address for blob in world.blobs.at(world.namespace("repo")).list()} == kept


def test_a_repository_whose_bucket_was_deleted_is_emptied(world: World) -> None:
    repo = deleted(world)
    world.clock.sleep(601)
    stores = replace(world.stores(), blobs=WithoutBucket(world.blobs, world.namespace("repo")))
    done = clean(stores, AT_ONCE)
    assert (done.repositories, done.failures) == (1, [])
    assert not of_repository(world, repo)
    assert entry_of(world, repo) is None


def test_the_namespace_and_the_name_are_free_afterwards(world: World) -> None:
    deleted(world)
    cleaned(world)
    assert world.repository(adopt=True).branch("main").list() is not None


def test_what_can_still_be_restored_is_left(world: World) -> None:
    repo = deleted(world)
    before = of_repository(world, repo)
    done = cleaned(world, CleaningPlan())
    assert (done.repositories, done.waiting, done.late) == (0, 1, 0)
    assert of_repository(world, repo) == before


def test_the_time_of_a_deletion_by_a_clock_far_ahead_begins_again(world: World) -> None:
    """Else nothing would be removed until that time."""
    fill(world)
    world.clock.time += YEAR
    world.graveler().delete_repository("repo")
    world.clock.time -= YEAR
    assert (cleaned(world, CleaningPlan()).waiting, cleaned(world, CleaningPlan(dry_run=True)).waiting) == (1, 1)
    world.clock.time += timedelta(days=6)
    assert cleaned(world, CleaningPlan()).waiting == 1
    world.clock.time += timedelta(days=1)
    assert cleaned(world, CleaningPlan()).repositories == 1


def test_a_cleaner_whose_clock_is_behind_ends_no_time(world: World) -> None:
    """It takes the time of the deletion for that of a clock far ahead."""
    deleted(world)
    world.clock.time -= YEAR
    assert cleaned(world, CleaningPlan()).waiting == 1
    world.clock.time += YEAR
    assert (cleaned(world, CleaningPlan()).waiting, cleaned(world).repositories) == (1, 1)


def test_what_may_still_be_written_to_is_left(world: World) -> None:
    repo = deleted(world)
    done = clean(world.stores(), AT_ONCE)
    assert (done.repositories, done.waiting, done.late) == (0, 0, 1)
    assert state_of(world, repo) is DeletedState.DELETED


def test_what_was_never_active_waits_for_nobody(world: World) -> None:
    """Nobody can restore it, and it keeps a namespace."""
    kv = Interposed(world.kv)
    kv.fail[4] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).create_repository("other", world.namespace("other"))
    world.clock.sleep(180)
    done = clean(world.stores(), CleaningPlan())
    assert (done.deletions, done.repositories, done.late) == (1, 0, 1)
    assert cleaned(world, CleaningPlan()).repositories == 1
    assert claim_of(world, "other") is None
    assert world.repository("other").id == "other"


def test_the_repository_that_bears_the_name_now_is_untouched(world: World) -> None:
    repo = deleted(world)
    again = world.graveler().create_repository("repo", world.namespace("second"))
    again.branch("main").stage("mine", entry(3))
    assert cleaned(world).repositories == 1
    assert not of_repository(world, repo) & {f"{repo.id}-{repo.uid}"}
    assert [item.path for item in world.branch().list()] == ["mine"]
    assert claim_of(world, "second") is not None


def test_a_crash_anywhere_is_completed_by_the_next_walk() -> None:
    for number in range(400):
        world = World()
        world.repository()
        repo = deleted(world)
        kv = Interposed(world.kv)
        kv.fail[number] = Crash()
        try:
            cleaned(world, kv=kv)
        except Crash:
            assert entry_of(world, repo) is not None or not of_repository(world, repo)
            cleaned(world)
        assert not of_repository(world, repo)
        assert entry_of(world, repo) is None
        assert claim_of(world) is None
        if number not in range(len(kv.verbs)):
            return
    raise AssertionError("the walk does not end")


def test_a_failure_anywhere_is_reported_or_raised_and_the_next_walk_completes() -> None:
    told = set()
    for number in range(400):
        world = World()
        world.repository()
        repo = deleted(world)
        kv = Interposed(world.kv)
        kv.fail[number] = unavailable()
        try:
            done = cleaned(world, kv=kv)
        except type(unavailable()):
            told.add("raised")
        else:
            told.add("reported" if done.failures else "well")
        assert cleaned(world).failures == []
        assert not of_repository(world, repo)
        if number not in range(len(kv.verbs)):
            break
    assert told == {"raised", "reported", "well"}


def test_two_cleaners_between_any_two_calls() -> None:
    for number in range(400):
        world = World()
        world.repository()
        repo = deleted(world)
        kv = Interposed(world.kv)
        kv.before[number] = lambda world=world: clean(world.stores(), AT_ONCE)
        cleaned(world, kv=kv)
        assert not of_repository(world, repo)
        assert entry_of(world, repo) is None
        if kv.before:
            return
    raise AssertionError("the walk does not end")


def test_a_restoration_past_its_time_is_deleted_again(world: World) -> None:
    repo = deleted(world)
    put_entry(world, repo, DeletedState.RESTORING)
    clean(world.stores(), AT_ONCE)
    assert state_of(world, repo) is DeletedState.RESTORING
    world.clock.sleep(121)
    done = clean(world.stores(), AT_ONCE)
    assert state_of(world, repo) is DeletedState.DELETED
    assert done.waiting == 1


def test_a_restoration_that_a_clock_far_ahead_began_is_over(world: World) -> None:
    repo = deleted(world)
    world.clock.time += YEAR
    put_entry(world, repo, DeletedState.RESTORING)
    world.clock.time -= YEAR
    clean(world.stores(), AT_ONCE)
    assert state_of(world, repo) is DeletedState.DELETED


@pytest.mark.parametrize("state", [DeletedState.DELETED, DeletedState.PURGING])
def test_an_entry_of_a_repository_that_is_there_is_void(world: World, state: DeletedState) -> None:
    """As a creation of the entry leaves it that came late."""
    main = fill(world)
    before = [item.path for item in main.list()]
    repo = world.graveler().repository("repo")._record
    put_entry(world, repo, state)
    assert cleaned(world).repositories == 0
    assert entry_of(world, repo) is None
    assert [item.path for item in world.branch().list()] == before
    assert claim_of(world) is not None


def test_what_is_being_emptied_is_never_void(world: World) -> None:
    """A restoration that has failed left its record: the next one would restore what another cleaner empties."""
    repo = deleted(world)
    put_entry(world, repo, DeletedState.PURGING, emptying=True)
    leftover = repo.model_copy(update={"state": RepositoryState.INITIAL, "since": world.clock.now()})
    access.write(world.kv, keys.repository(NAME), leftover)
    assert clean(world.stores(), AT_ONCE).repositories == 1
    assert not of_repository(world, repo)


def test_a_deletion_that_waits_for_the_cleaner_finds_its_record_removed(world: World) -> None:
    repo = deleted(world)
    put_entry(world, repo, DeletedState.PURGING)
    deleting = repo.model_copy(update={"state": RepositoryState.DELETING, "since": world.clock.now()})
    access.write(world.kv, keys.repository(NAME), deleting)
    assert clean(world.stores(), AT_ONCE).repositories == 1
    assert repositories.find(world.kv, NAME) is None


@pytest.mark.parametrize("emptying", [False, True])
def test_a_deletion_does_not_wait_for_a_cleaner_that_died(world: World, emptying: bool) -> None:
    repo = deleted(world)
    put_entry(world, repo, DeletedState.PURGING, emptying=emptying)
    deleting = repo.model_copy(update={"state": RepositoryState.DELETING, "since": world.clock.now()})
    access.write(world.kv, keys.repository(NAME), deleting)
    deletion.delete_repository(world.stores(), NAME)
    assert repositories.find(world.kv, NAME) is None
    left = entry_of(world, repo)
    assert left is not None
    assert (left.state, left.emptying) == (DeletedState.PURGING, True)
    assert clean(world.stores(), AT_ONCE).repositories == 1
    assert not of_repository(world, repo)


def test_a_damaged_record_leaves_the_repository_to_people(world: World) -> None:
    """Nobody knows which layers its branch had."""
    repo = deleted(world)
    where = keys.branch(repo, repo.default_branch)
    world.kv.set(where.partition, where.key, b"\x01{}")
    done = cleaned(world)
    assert [what for what, _ in done.failures] == [f"deleted repository repo/{repo.uid}"]
    assert where.name in done.failures[0][1]
    assert entry_of(world, repo) is not None


def test_a_damaged_branch_of_the_next_repository_does_not_keep_the_entry(world: World) -> None:
    repo = deleted(world)
    again = world.graveler().create_repository("repo", world.namespace("second"))._record
    where, counter = keys.branch(again, again.default_branch), count(world, again, "of no branch")
    world.kv.set(where.partition, where.key, b"junk")
    done = cleaned(world)
    assert done.repositories == 1
    assert entry_of(world, repo) is None
    assert {what for what, _ in done.failures} == {where.name}
    assert world.kv.get(counter.partition, counter.key) is not None


def test_a_damaged_entry_is_passed_by(world: World) -> None:
    repo = deleted(world)
    world.kv.set(keys.DELETED, b"repo/aaa/1", b"junk")
    done = cleaned(world)
    assert done.repositories == 1
    assert [what for what, _ in done.failures] == ["graveler_deleted/repo/aaa/1"]
    assert not of_repository(world, repo)


def test_a_limit_is_kept_and_the_next_call_goes_on() -> None:
    for limit in (1, 2, 3, 7):
        world = World()
        world.repository()
        repo = deleted(world)
        world.clock.sleep(601)
        plan, after, calls = CleaningPlan(undelete_within=timedelta(0), limit=limit), None, 0
        while True:
            seen = 0

            def count(more: int) -> None:
                nonlocal seen
                seen += more

            done = clean(world.stores(), plan, after=after, progress=count)
            assert seen <= limit
            calls += 1
            after = done.next
            if after is None:
                break
        assert calls >= 10 // limit
        assert not of_repository(world, repo)
        assert entry_of(world, repo) is None


def test_a_token_of_before_somebody_else_came_begins_anew(world: World) -> None:
    repo = deleted(world)
    world.clock.sleep(601)
    plan = CleaningPlan(undelete_within=timedelta(0), limit=2)
    first = clean(world.stores(), plan)
    assert first.next is not None
    assert entry_of(world, repo) is not None
    put_entry(world, repo, DeletedState.PURGING, emptying=True)
    rest = clean(world.stores(), AT_ONCE, after=first.next)
    assert rest.repositories == 1
    assert not of_repository(world, repo)


def test_undelete_is_refused_from_the_claim_on(world: World) -> None:
    repo = deleted(world)
    put_entry(world, repo, DeletedState.PURGING)
    with pytest.raises(NotFound, match="cleaned up for good"):
        world.graveler().undelete_repository("repo")


def test_a_creation_that_stalled_leaves_an_entry() -> None:
    """Declared failed, deleted, emptied and forgotten before any of its calls: what it writes later is not left."""
    for number in range(40):
        world = World()
        kv = Interposed(world.kv)

        def everything(world: World = world) -> None:
            world.clock.sleep(180)
            clean(world.stores(), AT_ONCE)
            cleaned(world)

        kv.before[number] = everything
        try:
            made = world.graveler(kv).create_repository("repo", world.namespace("repo"))
        except Exception:
            assert not kv.before
            cleaned(world)
            assert set(world.kv._memory.partitions) <= {b"graveler", b"graveler_deleted", b"graveler_stats"}
            assert claim_of(world) is None
        else:
            assert made.id == "repo"
        if kv.before:
            return
    raise AssertionError("the creation does not end")


def test_a_repository_that_became_active_meanwhile_is_not_deleted(world: World) -> None:
    """A creation took over two minutes, and became active when the cleaner had read its record."""
    held = repositories.find(world.kv, NAME)
    assert held is not None
    initial = held.value.model_copy(update={"state": RepositoryState.INITIAL, "since": world.clock.now() - WEEKS})
    access.write(world.kv, keys.repository(NAME), initial)
    read = repositories.find(world.kv, NAME)
    assert read is not None
    access.write(world.kv, keys.repository(NAME), held.value)
    assert not deletion.complete_deletion(world.stores(), read)
    assert world.graveler().repository("repo").id == "repo"
