"""Two commits are written and perhaps never reached, beside collectors, a user, and moves of references: every order.

A writer stores the commit `low` and its child `high`, and then swaps the head of the branch to `high`. It may die, and
it may be slower than the grace period. A user who knows the id of `high` creates a tag at it, also when no reference
leads to it yet, or resets the branch to it. Only the creation is not slower than the grace period. References are reset
and deleted, by flows that record the former head first, and in old repositories by flows that do not. The state is what
the store holds, and where everyone stands. A grace period is over when all calls of users and of old flows have ended
that were running when it began. A rule that is left out must break the promise: a header is gone that a reference leads
to, or once led to.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proofs.model.reachable import reachable
from tests.proofs.model.unreached.collectors import collector
from tests.proofs.model.unreached.flows import moves, old, resets, user, writer
from tests.proofs.model.unreached.state import BOTH, LOW, Collector, Record, State

RULES = {
    "record a former head first": "moves",
    "read former heads after references": "writer",
    "adopt what is unreachable before the first announcement": "old",
    "adopt after a grace period": "old",
    "users ask": "user",
    "a revival is a swap": "user",
    "users are refused": "user",
    "a revived commit keeps its ancestors": "user",
    "a commit that was not announced keeps its ancestors": "user",
    "wait for the grace period": "user",
    "the grace period begins after the swap": "user",
    "read references again": "user",
    "change the branch records": "writer",
    "change the branch records for resets": "reset",
    "a reset asks again": "reset",
    "read references after that": "writer",
    "late writers stop": "writer",
    "enter commits before they are deleted": "user",
    "remember what was deleted": "user",
}
"""Rules, and the calls beside the collector that need each."""
CHANGES, SWAPS = 5, 3
"""Numbers of changes of the record, and of the branch, after which a history ends."""


def steps(s: State, without: str) -> Iterator[State]:
    """All next states."""
    yield from writer(s, without)
    yield from user(s, without)
    yield from resets(s, without)
    yield from moves(s, without)
    yield from old(s)
    for number in range(len(s.collectors)):
        yield from collector(s, number, without)


LOST = State(headers=BOTH, told=True, user="begin")
SLOW = State(headers=frozenset({LOW}), writer="high", wrote=True, user="begin")
HEAD = State(headers=BOTH, told=True, at=True, reached=True, mover="begin")
TWO = (Collector(), Collector())
BEGINNINGS = {
    "writer": [State(writer="begin", mover="begin"), State(writer="begin", collectors=TWO)],
    "user": [LOST._replace(mover="begin"), LOST._replace(collectors=TWO), SLOW],
    "reset": [LOST._replace(user="", resetter="begin"), SLOW._replace(user="", resetter="begin")],
    "moves": [HEAD, HEAD._replace(user="begin")],
    "old": [HEAD._replace(record=Record(), mover="", old="begin")],
}


def found(beside: str, without: str = "") -> tuple[State | None, int, bool]:
    """The first state with a broken promise, the number of states, and whether headers were removed."""

    def bounded(state: State) -> Iterator[State]:
        return (s for s in steps(state, without) if s.record.version <= CHANGES and s.branch <= SWAPS)

    states, removed = 0, False
    for state in reachable(BEGINNINGS[beside], bounded):
        states += 1
        removed |= bool(state.record.removed)
        if state.reached and state.headers != BOTH:
            return state, states, removed
    return None, states, removed


@pytest.mark.parametrize("beside", BEGINNINGS)
def test_no_order_breaks_the_promise(beside: str) -> None:
    broken, states, removed = found(beside)
    assert broken is None
    assert states > 30
    assert removed == (beside in ("writer", "user", "reset"))


@pytest.mark.ci
@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(RULES[rule], without=rule)[0] is not None
