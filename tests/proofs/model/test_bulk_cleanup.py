"""A bulk write, a commit that retires its layer, two cleaners, other swaps and crashes: every order there is.

One layer, as bits: is it listed, does it hold its data, what does its cleanup record say; and the branch record's
version, which each swap moves on. A rule that is left out must break what it is there for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import pytest

from tests.proofs.model.reachable import reachable

RULES = {
    "record before data": "a layer is left behind without a name",
    "look at the record again": "a listed layer has lost its data",
    "claim before dropping": "a listed layer has lost its data",
    "move the branch on before dropping": "a listed layer has lost its data",
}
VERSIONS = 5
ENDED = ("done", "given up", "dead")


@dataclass(frozen=True)
class State:
    """The registers, and where everyone stands."""

    version: int = 0
    listed: bool = False
    data: bool = False
    record: Literal["", "named", "purging"] = ""
    writer: str = "begin"
    writer_saw: int = 0
    commit: str = "begin"
    commit_saw: int = 0
    cleaners: tuple[tuple[str, int], tuple[str, int]] = (("begin", 0), ("begin", 0))


def writer(s: State, without: str) -> Iterator[State]:
    """`engine.staging.bulk`: read the branch, record, build, swap; after another swap read, check the record, swap."""
    match s.writer:
        case "begin":
            yield replace(s, writer="record", writer_saw=s.version)
        case "record":
            yield replace(s, writer="build", record="" if without == "record before data" else "named")
        case "build":
            yield replace(s, writer="swap", data=True)
        case "swap" if s.version == s.writer_saw:
            for end in ("done", "given up"):  # with and without an answer
                yield replace(s, writer=end, version=s.version + 1, listed=True)
        case "swap":
            yield replace(s, writer="read")
        case "read":
            step = "swap" if without == "look at the record again" else "look"
            yield replace(s, writer=step, writer_saw=s.version)
        case "look":
            yield replace(s, writer="swap" if s.record == "named" else "given up")
    if s.writer not in ENDED:
        yield replace(s, writer="dead")


def commit(s: State) -> Iterator[State]:
    """Whatever takes a listed layer: the record, the swap, the data."""
    match s.commit:
        case "begin" if s.listed:
            yield replace(s, commit="record", commit_saw=s.version)
        case "record":
            yield replace(s, commit="swap", record="named")
        case "swap" if s.version == s.commit_saw:
            yield replace(s, commit="drop", version=s.version + 1, listed=False)
        case "swap":
            yield replace(s, commit="begin")
        case "drop":
            yield replace(s, commit="done", data=False)
    if s.commit in ("record", "swap", "drop"):
        yield replace(s, commit="dead")


def cleaner(s: State, number: int, without: str) -> Iterator[State]:
    """As `Cleanup` says; the record goes when no writer can be at work on it any more."""
    step, saw = s.cleaners[number]

    def to(step: str, saw: int = 0) -> State:
        mine = (step, saw)
        return replace(s, cleaners=(mine, s.cleaners[1]) if number == 0 else (s.cleaners[0], mine))

    match step:
        case "begin" if s.record:
            yield to("look" if s.record == "named" else "fence")
        case "look":
            claims = "drop" if without == "claim before dropping" else "claim"
            yield to("end" if s.listed else claims)
        case "claim":
            yield replace(to("fence"), record="purging") if s.record == "named" else to("end")
        case "fence" if s.listed:
            yield replace(to("end"), record="named" if s.record == "purging" else s.record)
        case "fence":
            yield to("drop" if without == "move the branch on before dropping" else "swap", s.version)
        case "swap":
            yield replace(to("drop"), version=s.version + 1) if s.version == saw else to("fence")
        case "drop":
            yield replace(to("forget"), data=False)
        case "forget" if s.writer in (*ENDED, "begin"):
            yield replace(to("end"), record="", data=False)
    if step not in ("begin", "end", "dead"):
        yield to("dead")


def steps(s: State, without: str) -> Iterator[State]:
    yield from writer(s, without)
    yield from commit(s)
    for number in (0, 1):
        yield from cleaner(s, number, without)
    yield replace(s, version=s.version + 1)


def wrong(s: State) -> str:
    """What a state breaks."""
    if s.listed and not s.data:
        return "a listed layer has lost its data"
    if s.data and not s.listed and not s.record and s.writer in ENDED:
        return "a layer is left behind without a name"
    return ""


def found(without: str = "") -> tuple[str, int]:
    """What is first found wrong, and how many states were seen."""
    states = 0
    for state in reachable([State()], lambda s: (n for n in steps(s, without) if n.version <= VERSIONS)):
        states += 1
        if broken := wrong(state):
            return broken, states
    return "", states


def test_no_order_breaks_a_promise() -> None:
    broken, states = found()
    assert not broken
    assert states > 50_000


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(without=rule)[0] == RULES[rule]
