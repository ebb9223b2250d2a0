"""Conditional writes: of several that expect the same, one is acknowledged, in every order of their calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from graveler_core.errors import (
    GravelerError,
    InvalidInput,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
    SlowDown,
)
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.races import Interrupted
from tests.unit.engine.world import World, entry

CALLS = 30
"""More calls than a conditional write makes."""


def shown(branch: Branch, path: str = "a") -> bytes | None:
    return next((item.identity for item in branch.list() if item.path == path), None)


def acknowledged(write: Callable[[], Entry]) -> Entry | None:
    try:
        return write()
    except (PredicateFailed, OutcomeUnknown):
        return None


def test_a_path_is_created_once(world: World) -> None:
    branch = world.branch()
    made = branch.stage_if("a", entry(1), None)
    assert made.path == "a"
    with pytest.raises(PredicateFailed, match="exists already"):
        branch.stage_if("a", entry(2), None)
    assert branch.stage_if("a", entry(1), None) == made  # the same entry again changes nothing


@pytest.mark.parametrize("between", ["nothing", "commit", "compact"])
def test_an_entry_is_replaced_only_if_it_is_the_expected_one(world: World, between: str) -> None:
    branch = world.branch()
    first = branch.stage_if("a", entry(1), None)
    if between != "nothing":
        getattr(branch, between)("x") if between == "commit" else branch.compact()
    second = branch.stage_if("a", entry(2), first)
    with pytest.raises(PredicateFailed, match="another entry"):
        branch.stage_if("a", entry(3), first)
    branch.remove("a")
    with pytest.raises(PredicateFailed, match="does not exist any more"):
        branch.stage_if("a", entry(3), second)
    assert branch.stage_if("a", entry(3), None)
    branch.remove_prefix("")
    assert branch.stage_if("a", entry(4), None)


@pytest.mark.parametrize("between", ["nothing", "commit", "compact"])
def test_a_path_is_removed_only_if_it_has_the_expected_entry(world: World, between: str) -> None:
    branch = world.branch()
    first = branch.stage("a", entry(1))
    if between != "nothing":
        getattr(branch, between)("x") if between == "commit" else branch.compact()
    second = branch.stage("a", entry(2))
    with pytest.raises(PredicateFailed, match="another entry"):
        branch.remove_if("a", first)
    assert shown(branch) == second.identity
    branch.remove_if("a", second)
    assert shown(branch) is None
    branch.remove_if("a", second)  # it is removed already
    branch.remove_if("absent", second)
    assert [record.path for record in branch.staged()] == ["a", "absent"]


@pytest.mark.parametrize("commits", [False, True])
def test_a_removal_never_hides_a_concurrent_write(world: World, commits: bool) -> None:
    """Another entry is staged before each call of the removal."""
    branch = world.branch()
    for call in range(CALLS):
        first = branch.stage("a", entry(1))
        kv, written = Interposed(world.kv), list[Entry]()

        def replace(written: list[Entry] = written) -> None:
            written.append(branch.stage("a", entry(2)))
            if commits:
                branch.commit("2", allow_empty=True)

        kv.before[call] = replace
        with suppress(PredicateFailed, OutcomeUnknown):
            world.branch(kv).remove_if("a", first)
        assert shown(branch) == (written[0].identity if written else None)
        if not written:
            break
    assert 3 < call < CALLS - 1


OTHERS: dict[str, Callable[[World, Branch], object]] = {
    "another": lambda world, branch: None,
    "a commit, then another": lambda world, branch: (branch.stage("b", entry(8)), branch.commit("b")),
    "a compaction, then another": lambda world, branch: (branch.stage("b", entry(8)), branch.compact()),
    "the removal of a prefix, then another": lambda world, branch: branch.remove_prefix("q"),
}


@pytest.mark.parametrize("expects", ["nothing", "an entry in the head", "a staged entry"])
@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("after", [False, True], ids=["", "then a commit"])
def test_one_of_two_is_acknowledged_whenever_the_other_runs(
    before: Callable[[World, Branch], object], expects: str, after: bool
) -> None:
    for call in range(CALLS):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        mine, other = world.branch(kv), world.branch()
        expected = None if expects == "nothing" else other.stage("a", entry(7))
        if expects == "an entry in the head":
            other.commit("seven")
        mine.get("a") if expected else None  # what it knows of the branch grows old
        winners: list[Entry | None] = []

        def interfere(
            world: World = world,
            other: Branch = other,
            expected: Entry | None = expected,
            winners: list[Entry | None] = winners,
        ) -> None:
            before(world, other)
            winners.append(acknowledged(lambda: other.stage_if("a", entry(2), expected)))
            if after:
                other.commit("after", allow_empty=True)

        kv.reset()
        kv.before[call] = interfere
        winners.append(acknowledged(lambda mine=mine, expected=expected: mine.stage_if("a", entry(1), expected)))
        won = [winner for winner in winners if winner is not None]
        assert len(won) == 1, (call, winners)
        assert shown(world.branch()) == won[0].identity, call
        if len(kv.verbs) <= call:
            return
    raise AssertionError("raise CALLS")


def call_of_set(branch: Branch, kv: Interposed) -> int:
    """Return the number of the call that sets the row, in the next conditional write of a new path."""
    branch.stage_if("y", entry(1), None)
    kv.reset()
    branch.stage_if("z", entry(1), None)
    at = kv.verbs.index("set_if")
    kv.reset()
    return at


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_response_is_resolved_by_reading_the_row(world: World, kv: Interposed, done: bool) -> None:
    branch = world.branch(kv)
    at = call_of_set(branch, kv)
    kv.lose[at] = done
    if done:
        assert branch.stage_if("a", entry(1), None)
        return
    with pytest.raises(OutcomeUnknown):
        branch.stage_if("a", entry(1), None)


@pytest.mark.parametrize("looks", [True, False])
def test_no_row_is_set_again_while_a_request_may_come_late(world: World, kv: Interposed, looks: bool) -> None:
    """If the call was acknowledged, the request could bring back what others have removed since."""
    branch = world.branch(kv)
    at = call_of_set(branch, kv)
    kv.lose[at] = False
    kv.before[at + 1] = lambda: world.graveler().repository("repo").protect("other")
    if not looks:
        kv.fail[at + 1] = unavailable()
    with pytest.raises(OutcomeUnknown, match="may take effect later"):
        branch.stage_if("a", entry(1), None)
    assert kv.verbs.count("set_if") == 1


def test_what_refuses_other_writes_refuses_these(world: World) -> None:
    branch = world.branch()
    with pytest.raises(InvalidInput):
        branch.stage_if("../a", entry(1), None)
    world.graveler().repository("repo").protect("main")
    with pytest.raises(PermissionDenied):
        branch.stage_if("a", entry(1), None)
    assert issubclass(PredicateFailed, GravelerError)


@pytest.mark.parametrize("call", range(5))
def test_a_protection_that_comes_before_the_closing_read_is_obeyed(world: World, kv: Interposed, call: int) -> None:
    branch = world.branch(kv)
    branch.stage_if("y", entry(1), None)
    kv.reset()
    kv.before[call] = lambda: world.graveler().repository("repo").protect("main")
    with pytest.raises((PermissionDenied, OutcomeUnknown)) as refused:
        branch.stage_if("a", entry(1), None)
    cause = refused.value if isinstance(refused.value, PermissionDenied) else refused.value.__cause__
    assert isinstance(cause, PermissionDenied)
    kv.reset()
    with pytest.raises(PermissionDenied):
        branch.stage_if("a", entry(2), None)


CHANGES: dict[str, Callable[[Branch], object]] = {
    "the removal of a path that does not exist": lambda branch: branch.remove("a"),
    "the same entry with another time": lambda branch: branch.stage("a", entry(7, mtime=1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_row_that_keeps_the_condition_refuses_nothing(change: str) -> None:
    for call in range(CALLS):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        mine, other = world.branch(kv), world.branch()
        expected = other.stage("a", entry(7)) if "same entry" in change else None
        kv.reset()
        kv.before[call] = lambda other=other: CHANGES[change](other)  # type: ignore[misc]
        made = mine.stage_if("a", entry(1), expected)
        if len(kv.verbs) <= call:
            assert shown(world.branch()) == made.identity
            return
        if call <= kv.verbs.index("set_if"):
            assert shown(world.branch()) == made.identity, call
    raise AssertionError("raise CALLS")


def test_endless_changes_of_the_row_end_with_an_error(world: World) -> None:
    other = world.branch()
    expected = other.stage("a", entry(7))
    times = count(1)
    kv = Interrupted(
        world.kv,
        *[lambda: other.stage("a", entry(7, mtime=next(times)))] * 1000,
        before=lambda call: call.verb == "set_if",
    )
    with pytest.raises(SlowDown) as ended:
        world.branch(kv).stage_if("a", entry(1), expected)
    assert ended.value.kind is Kind.RetriesExhausted
    assert 3 <= kv.met < 1000
    assert shown(world.branch()) == expected.identity
