"""Seed 002: references are changed conditionally. A caller names the commit that a branch or tag must name.

The interleavings of `engine.references.naming`: another process moves the reference before each call of the flow. Until
the swap or deletion, the flow is refused and changes nothing; after it, the other process comes later.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NotFound, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.protection import BranchAction
from graveler_core.stores.hooks import Hooks
from tests.unit.engine.interposed import SWAPS, Interposed
from tests.unit.engine.world import World, entry

Change = Callable[[Repository, str], object]
"""A conditional change of `dev` or of `v1`, with the expected commit."""


@dataclass(frozen=True)
class Case:
    """A flow, the reference that it changes, and how others move that reference."""

    change: Change
    reference: str
    others: Callable[[Repository], object]


def _commit(repo: Repository) -> None:
    repo.branch("dev").stage("more", entry(9))
    repo.branch("dev").commit("by others")


def _retag(repo: Repository) -> None:
    repo.delete_tag("v1")
    repo.create_tag("v1", "main~1")


def _reassign(repo: Repository) -> None:
    repo.assign_tag("v1", "main~1", expected=repo.tag("v1").commit_id)


CASES = {
    "delete a branch": Case(lambda r, e: r.delete_branch("dev", expected=e), "dev", _commit),
    "hard reset": Case(lambda r, e: r.branch("dev").hard_reset("main~2", expected=e), "dev", _commit),
    "hard reset, beside a hard reset": Case(
        lambda r, e: r.branch("dev").hard_reset("main~2", expected=e),
        "dev",
        lambda r: r.branch("dev").hard_reset("main~1"),
    ),
    "delete a tag": Case(lambda r, e: r.delete_tag("v1", expected=e), "v1", _retag),
    "delete a tag, beside an assignment": Case(lambda r, e: r.delete_tag("v1", expected=e), "v1", _reassign),
    "assign a tag": Case(lambda r, e: r.assign_tag("v1", "main~2", expected=e), "v1", _retag),
    "assign a tag, beside an assignment": Case(lambda r, e: r.assign_tag("v1", "main~2", expected=e), "v1", _reassign),
}


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def repo(world: World) -> Repository:
    made = world.graveler().repository("repo")
    for number in (1, 2):
        made.branch("main").stage("a", entry(number))
        made.branch("main").commit(str(number))
    made.create_branch("dev", "main")
    made.create_tag("v1", "main")
    return made


def named(graveler: Graveler, reference: str) -> CommitId | None:
    """The commit that a branch or tag names, if it is there."""
    repo = graveler.repository("repo")
    try:
        return repo.branch("dev").record().commit_id if reference == "dev" else repo.tag("v1").commit_id
    except NotFound:
        return None


def test_the_change_is_made_if_the_reference_names_the_expected_commit(
    world: World, repo: Repository, case: Case
) -> None:
    before = named(world.graveler(), case.reference)
    assert before is not None
    case.change(repo, before)
    assert named(world.graveler(), case.reference) in (None, repo.commit("main~2").id)


def test_the_error_carries_the_expected_and_the_actual_commit(world: World, repo: Repository, case: Case) -> None:
    actual, expected = named(world.graveler(), case.reference), repo.commit("main~1").id
    events = list(repo.reflog())
    with pytest.raises(Conflict) as caught:
        case.change(repo, expected)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.kind, error.details["expected"], error.details["actual"]) == (Kind.LostRace, expected, actual)
    assert all(text in error.message for text in (case.reference, expected, str(actual)))
    assert named(world.graveler(), case.reference) == actual
    assert list(repo.reflog()) == events


@pytest.mark.parametrize("text", ["", "main", "abc123", "A" * 64, 7])
def test_an_expected_commit_is_a_complete_id(repo: Repository, case: Case, text: str) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        case.change(repo, text)


def test_others_move_the_reference_between_any_two_calls(world: World, repo: Repository, case: Case) -> None:
    before = named(world.graveler(), case.reference)
    assert before is not None
    rehearsal = Interposed(world.fork().kv)
    open_ = world.graveler(rehearsal).repository("repo")
    rehearsal.reset()
    case.change(open_, before)
    decisive = max(number for number, verb in enumerate(rehearsal.verbs[: _end(rehearsal.verbs)]) if verb in SWAPS)
    for number in range(decisive + 1):
        fork = world.fork()
        kv = Interposed(fork.kv)
        handle = fork.graveler(kv).repository("repo")
        kv.reset()
        kv.before[number] = lambda fork=fork: case.others(fork.graveler().repository("repo"))  # type: ignore[misc]
        with pytest.raises(Conflict) as caught:
            case.change(handle, before)
        now = named(fork.graveler(), case.reference)
        assert (caught.value.details["expected"], caught.value.details["actual"]) == (before, now)
        assert now not in (None, before)


def _end(verbs: list[str]) -> int:
    """Calls of the flow up to its decisive swap: what follows drops layers and logs the event."""
    return next(number for number, verb in enumerate(verbs) if verb in SWAPS) + 1


def test_a_change_that_does_not_move_the_head_is_no_conflict(world: World, repo: Repository) -> None:
    """Others seal the staging token while the branch is being deleted: the deletion is tried again."""
    head = repo.branch("dev").record().commit_id
    rehearsal = Interposed(world.fork().kv)
    handle = world.graveler(rehearsal).repository("repo")
    rehearsal.reset()
    handle.delete_branch("dev", expected=head)
    kv = Interposed(world.kv)
    handle = world.graveler(kv).repository("repo")
    kv.reset()
    kv.before[rehearsal.verbs.index("delete_if")] = lambda: repo.branch("dev").remove_prefix("a")
    handle.delete_branch("dev", expected=head)
    assert kv.verbs.count("delete_if") > 1
    assert named(world.graveler(), "dev") is None


class TestAssignedTags:
    """Nessie's `assign`, for a tag. For a branch it is a hard reset."""

    def test_64_an_assignment_is_logged_with_what_it_left(self, repo: Repository) -> None:
        old = repo.create_tag("v2", "main", message="old", signature="sig")
        new = repo.assign_tag("v2", "main~1", expected=old.commit_id, message="new")
        assert (new.commit_id, new.message, new.signature) == (repo.commit("main~1").id, "new", "")
        assert repo.tag("v2") == new
        assert repo.at("v2").get("a").size == 1
        told = [(event.kind, event.before, event.after) for event in repo.reflog("v2")]
        assert told == [("assigned", old.commit_id, new.commit_id), ("created", None, old.commit_id)]
        assert [event.kind for event in repo.reflog() if event.name == "v2"] == ["assigned", "created"]

    def test_64_an_unknown_tag_is_not_found(self, repo: Repository) -> None:
        with pytest.raises(NotFound) as caught:
            repo.assign_tag("nothing", "main", expected="0" * 64)
        assert caught.value.kind is Kind.TagNotFound

    def test_7_an_assignment_that_changes_nothing_adds_no_event(self, repo: Repository) -> None:
        tag = repo.tag("v1")
        assert repo.assign_tag("v1", "main", expected=tag.commit_id) == tag
        assert [event.kind for event in repo.reflog("v1")] == ["created"]

    def test_an_assigned_tag_is_deleted_with_all_its_events(self, repo: Repository) -> None:
        for _ in range(10):
            repo.assign_tag("v1", "main~1", expected=repo.commit("main").id)
            repo.assign_tag("v1", "main", expected=repo.commit("main~1").id)
        repo.delete_tag("v1", expected=repo.commit("main").id)
        repo.create_tag("v1", "main")
        kinds = [event.kind for event in repo.reflog("v1")]
        assert (kinds[:2], kinds[-1], len(set(kinds[2:-1]))) == (["created", "deleted"], "created", 1)

    def test_a_read_only_repository_refuses_it(self, repo: Repository) -> None:
        repo.set_read_only(True)
        with pytest.raises(PermissionDenied):
            repo.assign_tag("v1", "main~1", expected=repo.tag("v1").commit_id)

    def test_a_hook_may_refuse_it(self, world: World, repo: Repository) -> None:
        def refuse(tag: object, commit: object) -> None:
            raise PermissionDenied("not signed")

        guarded = Graveler(replace(world.stores(), hooks=Hooks(verify_tag=refuse))).repository("repo")
        with pytest.raises(PermissionDenied, match="not signed"):
            guarded.assign_tag("v1", "main~1", expected=repo.tag("v1").commit_id)
        assert repo.tag("v1").commit_id == repo.commit("main").id


def test_protection_comes_before_the_expectation(repo: Repository) -> None:
    repo.protect("dev", [str(BranchAction.FORCE)])
    with pytest.raises(PermissionDenied):
        repo.delete_branch("dev", expected="0" * 64)
