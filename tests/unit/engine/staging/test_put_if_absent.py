"""Creations of a path that others create, too: before each call of the one, others act, and one of both succeeds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from graveler_core.errors import GravelerError, Kind, NotUnique, OutcomeUnknown, PermissionDenied
from graveler_core.facade.branch import Branch
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


def created(branch: Branch, content: bytes) -> bool:
    try:
        branch.put("k", content, if_absent=True)
    except (NotUnique, OutcomeUnknown) as e:  # unknown: another created the path after a commit interrupted this call
        refusal = e if isinstance(e, NotUnique) else e.__cause__
        assert isinstance(refusal, GravelerError)
        return refusal.kind not in {Kind.PathExists, Kind.PredicateFailed}
    return True


def committed(branch: Branch) -> None:
    branch.commit("others", allow_empty=True)


Act = Callable[[Branch, list[bool]], object]
ACTS: dict[str, Act] = {
    "create": lambda branch, won: won.append(created(branch, b"theirs")),
    "commit": lambda branch, won: committed(branch),
    "compact": lambda branch, won: (branch.stage("more", entry(7)), branch.compact()),
}


def calls(world: World, kv: Interposed) -> int:
    """Number of calls of a creation that nobody disturbs."""
    mine = world.branch(kv)
    list(mine.list("k"))
    kv.reset()
    assert created(mine, b"mine")
    return len(kv.verbs)


@pytest.mark.parametrize("first", ACTS)
@pytest.mark.parametrize("second", ACTS)
def test_one_of_two_creations_succeeds_whenever_the_other_comes(world: World, first: str, second: str) -> None:
    probe = world.fork()
    number = calls(probe, Interposed(probe.kv))
    assert number > 3
    for at in [*combinations(range(number), 2), *((n, n) for n in range(number))]:
        beside(world.fork(), [(at[0], ACTS[first]), (at[1], ACTS[second])])


def beside(world: World, acts: list[tuple[int, Act]]) -> None:
    """Create the path while others act before these calls."""
    kv = Interposed(world.kv)
    others, mine = world.branch(), world.branch(kv)
    list(mine.list("k"))
    kv.reset()
    won: list[bool] = []
    for call in {call for call, _ in acts}:
        kv.before[call] = lambda call=call: [act(others, won) for at, act in acts if at == call]  # type: ignore[misc]
    ours = created(mine, b"mine")
    assert [ours, *won].count(True) == 1
    for _ in range(2):
        assert others.read("k") == (b"mine" if ours else b"theirs")
        committed(others)


def test_a_removed_path_can_be_created_again(world: World) -> None:
    branch = world.branch()
    for commits in (True, False):
        assert created(branch, b"1")
        assert not created(branch, b"2")
        if commits:
            committed(branch)
            assert not created(branch, b"2")
        branch.remove("k")
    assert created(branch, b"3")
    branch.remove_prefix("k")
    assert created(branch, b"4")
    assert branch.read("k") == b"4"


def test_a_removal_of_the_path_refuses_no_creation(world: World) -> None:
    probe = world.fork()
    for call in range(calls(probe, Interposed(probe.kv))):
        there = world.fork()
        kv = Interposed(there.kv)
        others, mine = there.branch(), there.branch(kv)
        list(mine.list("k"))
        kv.reset()
        kv.before[call] = lambda others=others: others.remove("k")  # type: ignore[misc]
        assert created(mine, b"mine"), call


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_reply(world: World, kv: Interposed, done: bool) -> None:
    mine = world.branch(kv)
    list(mine.list("k"))
    kv.reset()
    probe = world.fork()
    counted = Interposed(probe.kv)
    calls(probe, counted)
    kv.lose[counted.verbs.index("set_if")] = done
    if done:
        assert created(mine, b"mine")
        assert world.branch().read("k") == b"mine"
    else:
        with pytest.raises(OutcomeUnknown):
            mine.put("k", b"mine", if_absent=True)
        assert list(world.branch().list("k")) == []


def test_a_protected_branch_refuses_and_uploads_nothing(world: World) -> None:
    world.graveler().repository("repo").protect("main", ["write"])
    with pytest.raises(PermissionDenied):
        world.branch().put("k", b"1", if_absent=True)
    assert list(world.branch().list("k")) == []
