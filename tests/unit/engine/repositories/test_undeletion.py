"""A deleted repository comes back whole or not at all, and never one that a cleaner has begun with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    Kind,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PredicateFailed,
    SlowDown,
    Unavailable,
)
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from tests.unit.engine.cleaning.places import AT_ONCE, claim_of, cleaned, deleted, entry_of, fill, of_repository
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.world import World

NAME = RepositoryId("repo")


def shown(world: World) -> dict[str, int]:
    return {item.path: item.size for item in world.branch().list()}


def test_everything_is_back_with_what_was_staged(world: World) -> None:
    fill(world)
    before, log = shown(world), world.branch().record().commit_id
    world.graveler().delete_repository("repo")
    found = world.graveler().undelete_repository("repo")
    assert found.id == "repo"
    assert shown(world) == before
    assert world.branch().record().commit_id == log
    assert not list(world.graveler().deleted_repositories())
    world.branch().commit("goes on")


def test_a_bare_repository_comes_back(world: World) -> None:
    world.graveler().create_bare_repository("bare", world.namespace("bare"))
    world.graveler().delete_repository("bare")
    assert world.graveler().undelete_repository("bare").id == "bare"


def test_what_was_restored_can_be_deleted_restored_and_cleaned(world: World) -> None:
    for _ in range(3):
        world.graveler().delete_repository("repo")
        repo = world.graveler().undelete_repository("repo")._record
    world.graveler().delete_repository("repo")
    assert cleaned(world).repositories == 1
    assert not of_repository(world, repo)


def test_a_write_reaches_no_other_repository_with_the_name(world: World) -> None:
    """Another process has deleted that, so this one still knows its staging token."""
    first, other = deleted(world), world.graveler()
    second = other.create_repository("repo", world.namespace("second"))
    second.branch("main").put("a", b"second")
    world.graveler().delete_repository("repo")
    other.undelete_repository("repo", uid=first.uid).branch("main").put("a", b"first")
    world.graveler().delete_repository("repo")
    restored = world.graveler().undelete_repository("repo", uid=second.uid)
    assert restored.branch("main").read("a") == b"second"


def test_of_several_the_one_that_was_deleted_last_or_the_one_that_is_named(world: World) -> None:
    first = deleted(world)
    second = world.graveler().create_repository("repo", world.namespace("second"))._record
    world.graveler().delete_repository("repo")
    uids = {found.repository.uid for found in world.graveler().deleted_repositories("repo")}
    assert uids == {first.uid, second.uid}
    assert world.graveler().undelete_repository("repo")._record.uid == second.uid
    world.graveler().delete_repository("repo")
    assert world.graveler().undelete_repository("repo", uid=first.uid)._record.uid == first.uid


def test_a_name_that_another_one_bears_is_refused_and_the_entry_stays(world: World) -> None:
    repo = deleted(world)
    since = [found.since for found in world.graveler().deleted_repositories()]
    world.graveler().create_repository("repo", world.namespace("second"))
    with pytest.raises(NotUnique) as e:
        world.graveler().undelete_repository("repo")
    assert e.value.kind is Kind.RepositoryExists
    found = entry_of(world, repo)
    assert found is not None
    assert (found.state, [found.since]) == (DeletedState.DELETED, since)
    world.graveler().delete_repository("repo")
    assert world.graveler().undelete_repository("repo", uid=repo.uid).id == "repo"


@pytest.mark.parametrize("why", ["not deleted", "gone", "unknown uid", "never active"])
def test_what_is_not_there_is_not_found(world: World, why: str) -> None:
    uid = None
    if why == "gone":
        deleted(world)
        cleaned(world)
    elif why == "unknown uid":
        deleted(world)
        uid = "1234"
    elif why == "never active":
        repo = deleted(world)
        held = access.read(world.kv, keys.deleted_repository(NAME, repo.uid))
        assert held is not None
        unfinished = held.value.model_copy(
            update={"repository": held.value.repository.model_copy(update={"was_active": False})}
        )
        access.write(world.kv, keys.deleted_repository(NAME, repo.uid), unfinished)
    with pytest.raises(NotFound) as e:
        world.graveler().undelete_repository("repo", uid=uid)
    assert e.value.kind is Kind.RepositoryNotFound


def test_a_namespace_that_was_given_up_is_a_reason(world: World) -> None:
    repo = deleted(world)
    where = keys.namespace_claim(world.namespace("repo"))
    world.kv.delete(where.partition, where.key)
    with pytest.raises(NotFound, match="namespace"):
        world.graveler().undelete_repository("repo")
    found = entry_of(world, repo)
    assert found is not None
    assert found.state is DeletedState.DELETED


def lose_default_branch(world: World, repo: RepositoryRecord) -> None:
    where = keys.branch(repo, repo.default_branch)
    world.kv.delete(where.partition, where.key)


def test_branches_that_are_gone_are_a_reason(world: World) -> None:
    lose_default_branch(world, deleted(world))
    with pytest.raises(NotFound, match="its branches are gone"):
        world.graveler().undelete_repository("repo")
    assert repositories.find(world.kv, NAME) is None


def test_a_repository_without_its_default_branch_comes_back(world: World) -> None:
    """The branch was deleted while it became the default branch."""
    world.graveler().repository("repo").create_branch("dev", "main")
    lose_default_branch(world, deleted(world))
    restored = world.graveler().undelete_repository("repo")
    assert [branch.id for branch in restored.branches()] == ["dev"]


def test_a_restoration_under_way_keeps_others_away_for_two_minutes(world: World) -> None:
    deleted(world)
    kv = Interposed(world.kv)
    kv.fail[3] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).undelete_repository("repo")
    with pytest.raises(Conflict, match="somebody else"):
        world.graveler().undelete_repository("repo")
    world.clock.sleep(121)
    assert world.graveler().undelete_repository("repo").id == "repo"


def test_a_restoration_that_a_clock_far_ahead_began_is_over(world: World) -> None:
    """Also one that had made the record, and removed the entry."""
    deleted(world)
    kv = Interposed(world.fork().kv)
    world.graveler(kv).undelete_repository("repo")
    for call in range(1, len(kv.verbs)):
        made = world.fork()
        kv = Interposed(made.kv)
        kv.fail[call] = Crash()
        made.clock.time += timedelta(days=365)
        with pytest.raises(Crash):
            made.graveler(kv).undelete_repository("repo")
        made.clock.time -= timedelta(days=365)
        made.graveler().clean()
        assert made.graveler().undelete_repository("repo").id == "repo"


def without_entry(world: World) -> None:
    """An earlier restoration failed after it had removed the entry, more than two minutes ago."""
    kv = Interposed(world.fork().kv)
    world.graveler(kv).undelete_repository("repo")
    activation = len(kv.verbs) - 1
    kv = Interposed(world.kv)
    kv.fail[activation] = unavailable()
    with pytest.raises(Unavailable):
        world.graveler(kv).undelete_repository("repo")
    world.clock.sleep(121)


def killed(
    others: Callable[[World], object],
    *,
    lose: bool | None = None,
    crash: bool = False,
    begun: Callable[[World], object] = lambda world: None,
) -> list[World]:
    """Worlds in which something befell the n-th call of a restoration, and it was done again after two minutes."""
    ended = []
    for number in range(40):
        world = World()
        world.repository()
        fill(world)
        before = shown(world)
        repo = world.graveler().repository("repo")._record
        world.graveler().delete_repository("repo")
        begun(world)
        kv = Interposed(world.kv)
        kv.before[number] = lambda world=world: others(world)
        if lose is not None:
            kv.lose[number] = lose
        if crash:
            kv.fail[number] = Crash()
        try:
            world.graveler(kv).undelete_repository("repo")
        except (GravelerError, Crash) as e:
            check_refused(world, repo, before, e)
        else:
            assert shown(world) == before
            cleaned(world)
            assert shown(world) == before
        if kv.before:
            return ended
        ended.append(world)
    raise AssertionError("the restoration does not end")


def check_refused(world: World, repo: RepositoryRecord, before: dict[str, int], e: BaseException) -> None:
    """It is there whole, or can be restored whole, or is gone to the last row."""
    for _ in range(4):
        try:
            world.graveler().repository("repo")
        except NotFound:
            world.clock.sleep(121)
            clean(world.stores(), CleaningPlan())
    try:
        found = world.graveler().repository("repo")
    except NotFound:
        if entry_of(world, repo) is None:
            cleaned(world)
            assert not of_repository(world, repo), e
            return
        try:
            world.graveler().undelete_repository("repo")
        except NotFound:
            cleaned(world)
            cleaned(world)
            assert not of_repository(world, repo), e
            assert claim_of(world) is None, e
            return
        found = world.graveler().repository("repo")
    assert found._record.uid == repo.uid
    assert shown(world) == before


def nothing(world: World) -> None:
    """Nobody else is there."""


def test_a_crash_anywhere(world: World) -> None:
    assert len(killed(nothing, crash=True)) > 7


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_answer_anywhere(done: bool) -> None:
    assert len(killed(nothing, lose=done)) > 7


# Without a cleaner: a restoration or a deletion was interrupted, and the record has no entry


def restored_later(world: World, repo: RepositoryRecord, before: dict[str, int]) -> None:
    """It is there, or another call says that somebody restores or deletes it, and restores it after two minutes."""
    try:
        world.graveler().repository("repo")
    except NotFound:
        try:
            world.graveler().undelete_repository("repo")
        except Conflict:
            world.clock.sleep(121)
            world.graveler().undelete_repository("repo")
    assert world.graveler().repository("repo")._record.uid == repo.uid
    assert shown(world) == before


HAPPENS: dict[str, Callable[[Interposed, int], object]] = {
    "crash": lambda kv, number: kv.fail.update({number: Crash()}),
    "unavailable": lambda kv, number: kv.fail.update({number: unavailable()}),
    "slow down": lambda kv, number: kv.fail.update({number: SlowDown("busy")}),
    "lost and done": lambda kv, number: kv.lose.update({number: True}),
    "lost and not done": lambda kv, number: kv.lose.update({number: False}),
}


@pytest.mark.parametrize("what", HAPPENS)
@pytest.mark.parametrize("verb", ["undelete", "delete", "undelete without entry"])
def test_an_interrupted_restoration_or_deletion_is_completed_by_the_next_restoration(what: str, verb: str) -> None:
    for number in range(40):
        world = World()
        world.repository()
        fill(world)
        before = shown(world)
        repo = world.graveler().repository("repo")._record
        if verb != "delete":
            world.graveler().delete_repository("repo")
        if verb == "undelete without entry":
            without_entry(world)
        kv = Interposed(world.kv)
        HAPPENS[what](kv, number)
        handle = world.graveler(kv)
        with suppress(GravelerError, Crash):
            handle.delete_repository("repo") if verb == "delete" else handle.undelete_repository("repo")
        if number >= len(kv.verbs):
            return
        restored_later(world, repo, before)
    raise AssertionError("the call does not end")


def test_an_earlier_restoration_that_goes_on_after_two_minutes() -> None:
    """Before any call of the next one, its last swap arrives: one of the two makes the repository active."""
    for number in range(40):
        world = World()
        world.repository()
        fill(world)
        before = shown(world)
        world.graveler().delete_repository("repo")
        without_entry(world)
        stores, where = world.stores(), keys.repository(NAME)
        initial = access.read(world.kv, where)
        assert initial is not None
        active = repositories.enter(initial.value, RepositoryState.ACTIVE, stores.clock, stores.ids)

        def goes_on(
            world: World = world, initial: Held[RepositoryRecord] = initial, active: RepositoryRecord = active
        ) -> None:
            with suppress(PredicateFailed):
                access.replace(world.kv, keys.repository(NAME), initial, active)

        kv = Interposed(world.kv)
        kv.before[number] = goes_on
        with suppress(NotFound, NotUnique):
            world.graveler(kv).undelete_repository("repo")
        assert shown(world) == before, number
        cleaned(world)
        assert shown(world) == before, number
        if kv.before:
            return
    raise AssertionError("the restoration does not end")


def test_the_repository_that_is_named_is_completed(world: World) -> None:
    repo = deleted(world)
    without_entry(world)
    with pytest.raises(NotFound):
        world.graveler().undelete_repository("repo", uid="1234")
    assert world.graveler().undelete_repository("repo", uid=repo.uid)._record.uid == repo.uid


def test_a_creation_that_was_interrupted_is_not_restored(world: World) -> None:
    kv = Interposed(world.kv)
    kv.fail[3] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).create_repository("other", world.namespace("other"))
    world.clock.sleep(121)
    with pytest.raises(NotFound):
        world.graveler().undelete_repository("other")


@pytest.mark.parametrize("verb", ["restored", "deleted"])
def test_within_two_minutes_it_may_still_be_running(world: World, verb: str) -> None:
    repo = deleted(world)
    if verb == "restored":
        without_entry(world)
    else:
        world.graveler().undelete_repository("repo")
        kv = Interposed(world.kv)
        kv.fail[2] = Crash()
        with pytest.raises(Crash):
            world.graveler(kv).delete_repository("repo")
    assert entry_of(world, repo) is None
    held = access.read(world.kv, keys.repository(NAME))
    assert held is not None
    access.write(world.kv, keys.repository(NAME), held.value.model_copy(update={"since": world.clock.now()}))
    with pytest.raises(Conflict, match=f"is being {verb} by somebody else") as e:
        world.graveler().undelete_repository("repo")
    assert e.value.kind is Kind.LostRace
    world.clock.sleep(121)
    assert world.graveler().undelete_repository("repo")._record.uid == repo.uid


def late(world: World) -> None:
    """The restoration stalls, and a cleaner that takes everything at once comes along."""
    world.clock.sleep(121)
    clean(world.stores(), AT_ONCE)


def later(world: World) -> None:
    """Two of them: the first gives the entry back, the second takes it."""
    late(world)
    cleaned(world)


@pytest.mark.parametrize("others", [late, later])
@pytest.mark.parametrize("lose", [None, False])
def test_a_cleaner_between_any_two_calls(others: Callable[[World], object], lose: bool | None) -> None:
    """Also where the answer of the call behind it is lost."""
    killed(others, lose=lose)
    killed(others, lose=lose, begun=without_entry)


@pytest.mark.parametrize("calls", range(2, 8))
def test_an_entry_that_a_cleaner_has_taken_is_not_one_that_was_removed(world: World, calls: int) -> None:
    """The request to remove it is lost, and the cleaner, which is at work, will empty the repository."""
    deleted(world)
    kv = Interposed(world.kv)
    world.graveler(kv).undelete_repository("repo")
    removal = kv.verbs.index("delete_if")
    world.graveler().delete_repository("repo")

    def taken() -> None:
        late(world)
        world.clock.sleep(601)
        cleaner = Interposed(world.kv)
        cleaner.fail[calls] = Crash()
        with pytest.raises(Crash):
            clean(world.stores(cleaner), AT_ONCE)

    kv.reset()
    kv.before[removal - 1] = taken
    kv.lose[removal] = False
    with pytest.raises(Conflict, match="deleted again"):
        world.graveler(kv).undelete_repository("repo")


def test_another_restoration_between_any_two_calls() -> None:
    def other(world: World) -> None:
        try:
            world.graveler().undelete_repository("repo")
        except (Conflict, NotFound, OutcomeUnknown, NotUnique):
            world.clock.sleep(121)

    killed(other)
    killed(other, begun=without_entry)


def test_a_deletion_between_any_two_calls_of_one_that_completes_another() -> None:
    killed(lambda world: world.graveler().delete_repository("repo"), begun=without_entry)


def test_a_deletion_that_stopped_half_way_is_helped(world: World) -> None:
    """The entry stands, and so does the record."""
    repo = deleted(world)
    deleting = repo.model_copy(update={"state": RepositoryState.DELETING})
    access.write(world.kv, keys.repository(NAME), deleting)
    assert world.graveler().undelete_repository("repo")._record.uid == repo.uid


def test_a_void_entry_is_refused(world: World) -> None:
    """The repository is there: the creation of its entry came late."""
    repo = deleted(world)
    held = access.read(world.kv, keys.deleted_repository(NAME, repo.uid))
    assert held is not None
    world.graveler().undelete_repository("repo")
    access.write(world.kv, keys.deleted_repository(NAME, repo.uid), held.value)
    with pytest.raises(NotUnique):
        world.graveler().undelete_repository("repo")
    assert world.graveler().repository("repo")._record.uid == repo.uid


# An entry of an earlier deletion that was created late


def entered_late(world: World) -> DeletedRepository:
    """Delete the repository and restore it. Then the entry of that deletion arrives once more."""
    repo = deleted(world)
    held = access.read(world.kv, keys.deleted_repository(NAME, repo.uid))
    assert held is not None
    world.graveler().undelete_repository("repo")
    access.write(world.kv, keys.deleted_repository(NAME, repo.uid), held.value)
    return held.value


def changed(world: World) -> None:
    """Change settings after the restoration, of users and of a collection."""
    repo = world.graveler().repository("repo")
    repo.protect("main")
    repositories.check_addresses(world.kv, world.ids, repo._record)


def check_changed(repo: Repository) -> None:
    assert repo._record.addresses_checked
    assert list(repo.protection()) == ["main"]


@pytest.mark.parametrize("state", DeletedState)
def test_a_deletion_replaces_an_entry_of_an_earlier_one(world: World, state: DeletedState) -> None:
    late = entered_late(world)
    changed(world)
    where = keys.deleted_repository(NAME, late.repository.uid)
    access.write(world.kv, where, late.model_copy(update={"state": state}))
    world.clock.sleep(timedelta(days=6, hours=23).total_seconds())
    world.graveler().delete_repository("repo")
    world.clock.sleep(timedelta(hours=2).total_seconds())
    done = clean(world.stores(), CleaningPlan())
    assert (done.waiting, done.repositories, done.failures) == (1, 0, [])
    check_changed(world.graveler().undelete_repository("repo"))


@pytest.mark.parametrize("verb", ["cleaner", "restoration"])
def test_an_interrupted_deletion_replaces_an_entry_of_an_earlier_one(world: World, verb: str) -> None:
    """The cleaner completes it, or a restoration begins with the entry and finds the newer record."""
    entered_late(world)
    changed(world)
    world.clock.sleep(timedelta(days=6, hours=23).total_seconds())
    kv = Interposed(world.kv)
    kv.fail[2] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).delete_repository("repo")
    world.clock.sleep(timedelta(hours=2).total_seconds())
    if verb == "cleaner":
        done = clean(world.stores(), CleaningPlan())
        assert (done.deletions, done.waiting, done.repositories) == (1, 1, 0)
        assert repositories.find(world.kv, NAME) is None
    check_changed(world.graveler().undelete_repository("repo"))


def test_a_cleaner_that_has_taken_an_entry_of_an_earlier_deletion_gives_it_to_the_next_one(world: World) -> None:
    """It takes the entry, and looks for the record just after the swap of the next deletion."""
    entered_late(world)
    changed(world)
    world.clock.sleep(timedelta(days=7).total_seconds())
    kv = Interposed(world.kv)
    kv.fail[2] = Crash()

    def deletes() -> None:
        with pytest.raises(Crash):
            world.graveler(kv).delete_repository("repo")

    plan = CleaningPlan(repository="repo")
    alone, cleaner = Interposed(world.fork().kv), Interposed(world.kv)
    clean(world.stores(alone), plan)
    cleaner.before[alone.verbs.index("set_if") + 1] = deletes
    done = clean(world.stores(cleaner), plan)
    assert (done.waiting, done.repositories, done.failures) == (1, 0, [])
    world.graveler().delete_repository("repo")
    check_changed(world.graveler().undelete_repository("repo"))


def test_a_deletion_that_stalled_leaves_the_entry_of_a_later_one(world: World) -> None:
    """It goes on after the repository was restored, changed and deleted again."""
    fill(world)
    kv = Interposed(world.kv)

    def others() -> None:
        world.graveler().delete_repository("repo")
        world.graveler().undelete_repository("repo")
        changed(world)
        world.graveler().delete_repository("repo")

    kv.before[2] = others
    world.graveler(kv).delete_repository("repo")
    check_changed(world.graveler().undelete_repository("repo"))


def test_deleted_repositories_are_listed_in_order_and_page_by_page(world: World) -> None:
    for name in ("aaa", "bbb", "ccc"):
        world.repository(name)
        world.graveler().delete_repository(name)
    listing = world.graveler().deleted_repositories()
    assert [found.repository.id for found in listing] == ["aaa", "bbb", "ccc"]
    page = next(world.graveler().deleted_repositories().pages(2))
    assert page.next is not None
    assert [found.repository.id for found in world.graveler().deleted_repositories(after=page.next)] == ["ccc"]
    assert [found.repository.id for found in world.graveler().deleted_repositories("bb")] == ["bbb"]


def test_a_damaged_entry_ends_the_listing_or_is_passed_by(world: World) -> None:
    deleted(world)
    world.kv.set(keys.DELETED, b"repo/aaa/1", b"damaged")
    with pytest.raises(CorruptData):
        list(world.graveler().deleted_repositories())
    errors: list[CorruptData] = []
    found = world.graveler().deleted_repositories(damaged=errors.append)
    assert [each.repository.id for each in found] == ["repo"]
    assert [error.details["name"] for error in errors] == ["graveler_deleted/repo/aaa/1"]


def test_a_damaged_entry_of_another_repository_does_not_matter_if_one_is_named(world: World) -> None:
    repo = deleted(world)
    world.kv.set(keys.DELETED, b"repo/repo/1", b"damaged")
    with pytest.raises(CorruptData):
        world.graveler().undelete_repository("repo")
    with pytest.raises(CorruptData):
        world.graveler().undelete_repository("repo", uid="1")
    assert world.graveler().undelete_repository("repo", uid=repo.uid)._record.uid == repo.uid


def test_waiting_counts_what_a_cleaner_would_find(world: World) -> None:
    assert world.graveler().waiting().oldest is None
    deleted(world)
    world.repository("other")
    deleted(world, "other")
    found = world.graveler().waiting()
    assert (found.deleted, found.purging, found.restoring, found.due) == (2, 0, 0, 0)
    world.clock.sleep(timedelta(days=8).total_seconds())
    assert world.graveler().waiting() == replace(found, due=2)
    world.graveler().clean()
    assert world.graveler().waiting().deleted == 0


def test_a_fresh_uid_is_not_restored_for_an_old_one(world: World) -> None:
    """Only the very repository that is named."""
    repo = deleted(world)
    other = RepositoryUid(f"{repo.uid[:-1]}0")
    with pytest.raises(NotFound):
        world.graveler().undelete_repository("repo", uid=other)
