"""A branch that moves, two calls that delete it, two folds of the log, crashes anywhere: every order there is.

The branch is the number of its moves, or gone. An intent is who wrote it and which record it knows. A rule that is left
out must break what it is there for. `engine.references.events` is what this is a model of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import pytest

from tests.proofs.model.reachable import reachable

Intent: TypeAlias = tuple[int, int]
"""Who, and the moves of the record."""
RULES = {
    "intent before deletion": "a deletion is not told",
    "log before taking away": "a deletion is not told",
    "ask what is logged": "a deletion is told twice",
    "read intents again": "a deletion is told with another head",
    "the latest move": "a deletion is told with another head",
    "leave what is under way": "a deletion is not told",
    "ask what stands": "a deletion is told that did not happen",
}
MOVES = 1
END = "end"
"""Done, given up or dead: it makes no difference to the others."""


class Fold(NamedTuple):
    """Where a fold stands, and what it has seen."""

    step: str = "begin"
    waiting: frozenset[Intent] = frozenset()
    spent: frozenset[Intent] = frozenset()
    gone: bool = False
    known: frozenset[Intent] = frozenset()
    logged: tuple[int, ...] = ()


class State(NamedTuple):
    """The registers, and where everyone stands."""

    moves: int = 0
    gone: bool = False
    pending: frozenset[Intent] = frozenset()
    log: tuple[int, ...] = ()
    deleters: tuple[tuple[str, int], ...] = (("begin", 0), ("begin", 0))
    folds: tuple[Fold, ...] = (Fold(), Fold())


def deleter(s: State, who: int, without: str) -> Iterator[State]:
    """`engine.references.branching.delete_branch`: read, intent, conditional delete; again if the branch has moved."""
    step, saw = s.deleters[who]
    late = without == "intent before deletion"

    def to(step: str, saw: int = saw, **changed: object) -> State:
        now = (END, 0) if step == END else (step, saw)
        return s._replace(deleters=tuple(now if n == who else other for n, other in enumerate(s.deleters)), **changed)

    match step:
        case "begin":
            yield to(END) if s.gone else to("delete" if late else "intent", s.moves)
        case "intent":
            yield to(END if late else "delete", pending=s.pending | {(who, saw)})
        case "delete" if not s.gone and s.moves == saw:
            yield to("intent" if late else END, gone=True)
        case "delete":
            yield to("begin")
    if step != END:
        yield to(END)


def fold(s: State, which: int, without: str) -> Iterator[State]:
    """`engine.references.events.fold`: pending, record, pending again, log, swap, take away."""
    mine = s.folds[which]

    def to(now: Fold, **changed: object) -> State:
        now = Fold(END) if now.step == END else now
        return s._replace(folds=tuple(now if n == which else f for n, f in enumerate(s.folds)), **changed)

    match mine.step:
        case "begin":
            yield to(mine._replace(step="record", waiting=s.pending))
        case "record":
            gone = (s.gone or without == "ask what stands") and bool(mine.waiting)
            every = gone or without == "leave what is under way"
            spent = frozenset(intent for intent in mine.waiting if every or intent[1] != s.moves)
            yield to(mine._replace(step="again" if gone else "take away", gone=gone, spent=spent))
        case "again":
            known = mine.waiting if without == "read intents again" else s.pending
            yield to(mine._replace(step="log", known=known))
        case "log":
            first = without == "log before taking away"
            yield to(mine._replace(step="take away" if first else "swap", logged=s.log))
        case "swap" if mine.logged == s.log:
            latest = min if without == "the latest move" else max
            new = (latest(moves for _, moves in mine.known),) if mine.known else ()
            told = mine.logged if without == "ask what is logged" or not mine.logged else None
            after = s.log if told is None else (*told, *new)
            yield to(mine._replace(step=END if without == "log before taking away" else "take away"), log=after)
        case "swap":
            yield to(mine._replace(step="record"))
        case "take away":
            step = "swap" if without == "log before taking away" and mine.gone else END
            yield to(mine._replace(step=step), pending=s.pending - mine.spent)
    if mine.step != END:
        yield to(Fold(END))


def steps(s: State, without: str) -> Iterator[State]:
    for who in (0, 1):
        yield from deleter(s, who, without)
        yield from fold(s, who, without)
    if not s.gone and s.moves < MOVES:
        yield s._replace(moves=s.moves + 1)


def wrong(s: State) -> str:
    """What a state breaks. What is not told yet is told by one more fold, when nobody is at work any more."""
    if s.log and not s.gone:
        return "a deletion is told that did not happen"
    if len(s.log) > 1:
        return "a deletion is told twice"
    if s.log and s.log[0] != s.moves:
        return "a deletion is told with another head"
    ended = all(step == END for step, _ in s.deleters) and all(f.step == END for f in s.folds)
    if s.gone and ended and not s.log and not s.pending:
        return "a deletion is not told"
    return ""


def found(without: str = "") -> tuple[str, int]:
    """What is first found wrong, and how many states were seen."""
    states = 0
    for state in reachable([State()], lambda s: steps(s, without)):
        states += 1
        if broken := wrong(state):
            return broken, states
    return "", states


@pytest.mark.ci
def test_no_order_breaks_a_promise() -> None:
    broken, states = found()
    assert not broken
    assert states > 10_000


@pytest.mark.ci
@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(without=rule)[0] == RULES[rule]
