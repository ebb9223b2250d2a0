"""Schedules of histories: uniformly drawn steps for one half, priorities with a few changes for the other half.

Priority schedules let one call run far ahead of the others, and find what needs a long delay at one place; see
Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs" (2010). A history is a
function of its seed and of the rules in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.proofs.model.checker import check
from tests.proofs.model.former import Former
from tests.proofs.model.operation import Ended, Operation, Outcome
from tests.proofs.model.state import Steps
from tests.proofs.model.workload import draw
from tests.proofs.model.world import Broken, World

RULES = Former()
_CHANGES = 0.06
_MOST_STEPS = 200


def violation(seed: int, former: Former = RULES, theme: str = "") -> str | None:
    """Run the history of a seed; what it breaks, if anything."""
    return run(seed, former, theme)[0]


def run(seed: int, former: Former = RULES, theme: str = "") -> tuple[str | None, list[Operation], World]:
    """Run the history of a seed: what it breaks, its calls, and what it left."""
    w = World(Random(seed), former)
    calls = draw(w, theme)
    ops = [op for op, _ in calls]
    try:
        if seed & 1:
            _by_priority(w, calls)
        else:
            _uniformly(w, calls)
        w.now += 1
        check(w, ops)
    except Broken as e:
        return str(e), ops, w
    return None, ops, w


def _uniformly(w: World, calls: list[tuple[Operation, Steps]]) -> None:
    random = w.random
    waiting = list(reversed(list(enumerate(calls, 1))))
    window = 1 + int(random() * 4)
    active: list[tuple[int, tuple[Operation, Steps]]] = []
    while True:
        while waiting and len(active) < window:
            active.append(waiting.pop())
        _begin_late(w, active)
        if not active:
            return
        at = int(random() * len(active))
        number, (op, steps) = active[at]
        if not _step(w, number, op, steps):
            del active[at]


def _by_priority(w: World, calls: list[tuple[Operation, Steps]]) -> None:
    random = w.random
    active = sorted(enumerate(calls, 1), key=lambda _: random())
    while True:
        _begin_late(w, active)
        if not active:
            return
        number, (op, steps) = active[0]
        if not _step(w, number, op, steps):
            del active[0]
        elif random() < _CHANGES:
            active.append(active.pop(0))


def _begin_late(w: World, active: list[tuple[int, tuple[Operation, Steps]]]) -> None:
    while w.late:
        steps = w.late.pop()
        active.insert(int(w.random() * (len(active) + 1)), (-1, (Operation("late"), steps)))


def _step(w: World, number: int, op: Operation, steps: Steps) -> bool:
    """One call to the store, and what follows until the next; False once the call has ended or crashed."""
    now = w.now = w.now + 1
    w.running = number
    if w.fetched[0] == number:
        w.fetched = (0, w.fetched[1])
    if op.start < 0:
        op.start = now
        next(steps)
    if op.crash_at:
        op.crash_at -= 1
        if not op.crash_at:
            steps.close()
            return False
    try:
        next(steps)
    except StopIteration:
        op.outcome = Outcome.DONE
        op.end = op.told = now
        return False
    except Ended as e:
        op.outcome = e.outcome
        op.told = now
        if e.outcome is Outcome.DONE:
            op.end = now
        return False
    return True


def directed(
    begin: Callable[[World], list[tuple[Operation, Steps]]], order: Sequence[int], former: Former = RULES
) -> tuple[str | None, list[Operation], World]:
    """Run calls, counted from 1, in a given order of steps; what is left of them then runs one after the other.

    Caches hold the last record, and a swap whose reply is lost happens if it can.
    """
    w = World(Random(0), former)
    w.random = lambda: 0.0
    calls = begin(w)
    ops = [op for op, _ in calls]
    try:
        running = dict(enumerate(calls, 1))
        for number in [*order, *(n for n in sorted(running) for _ in range(_MOST_STEPS))]:
            if number in running and not _step(w, number, *running[number]):
                del running[number]
        w.now += 1
        check(w, ops)
    except Broken as e:
        return str(e), ops, w
    return None, ops, w
