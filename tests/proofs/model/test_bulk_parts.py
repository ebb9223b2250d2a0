"""A layer that workers write for as long as they like, and a sweep, beside a commit, cleaners, other swaps and crashes.

As `test_bulk_cleanup`, but that the branch is read when the layer is whole, that a cleaner does not wait for the build,
and that a worker that nobody waits for writes at any time after the first record, also when all is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.proofs.model.reachable import reachable
from tests.proofs.model.test_bulk_cleanup import ENDED, State, cleaner, commit

RULES = {
    "look at the record": "a listed layer has lost its data",
    "read the branch when the layer is whole": "a listed layer has lost its data",
    "sweep only what has no record": "a listed layer has lost its data",
    "list before looking for the record": "a listed layer has lost its data",
}
VERSIONS = 4


@dataclass(frozen=True)
class Parts(State):
    """The registers, and where the sweep stands."""

    late: bool = False
    """There are pieces of an attempt that nobody waits for."""
    sweep: str = "begin"


def writer(s: Parts, without: str) -> Iterator[State]:
    """`engine.staging.bulk.stage_sorted`: record, build, and then for each swap: read, look at the record, swap."""
    early = without == "read the branch when the layer is whole"
    look = "swap" if without == "look at the record" else "look"
    match s.writer:
        case "begin":
            yield replace(s, writer="record", writer_saw=s.version)
        case "record":
            yield replace(s, writer="build", record="named")
        case "build":
            yield replace(s, writer=look if early else "read", data=True)
        case "read":
            yield replace(s, writer=look, writer_saw=s.version)
        case "look" if s.record == "named":
            yield replace(s, writer="swap")
        case "look":
            yield replace(s, writer="given up", data=s.data and s.record == "purging")
        case "swap" if s.version == s.writer_saw or early:
            for end in ("done", "given up"):  # with and without an answer
                yield replace(s, writer=end, version=s.version + 1, listed=True)
        case "swap":
            yield replace(s, writer="read")
    if s.writer not in ENDED:
        yield replace(s, writer="dead")


def worker(s: Parts) -> Iterator[State]:
    """Writes a piece that no answer names."""
    if s.writer not in ("begin", "record") and not s.late:
        yield replace(s, late=True)


def hasty(s: Parts) -> Iterator[State]:
    """A cleaner forgets a layer that it has dropped, whoever is still at work."""
    for number, (step, saw) in enumerate(s.cleaners):
        if step == "forget":
            pair = list(s.cleaners)
            pair[number] = ("end", saw)
            yield replace(s, cleaners=(pair[0], pair[1]), record="", data=False, late=False)


def sweep(s: Parts, without: str) -> Iterator[State]:
    """`gc.sweep`: list the files, look for the record, delete."""
    first, second = ("look", "list") if without == "list before looking for the record" else ("list", "look")
    steps = {"begin": first, first: second, second: "delete"}
    match s.sweep:
        case "list" if not (s.data or s.late):
            yield replace(s, sweep="begin")
        case "look" if s.record and without != "sweep only what has no record":
            yield replace(s, sweep="begin")
        case "delete":
            yield replace(s, sweep="end", data=False, late=False)
        case step if step in steps:
            yield replace(s, sweep=steps[step])


def steps(s: Parts, without: str) -> Iterator[State]:
    yield from writer(s, without)
    yield from worker(s)
    yield from commit(s)
    for number in (0, 1):
        yield from cleaner(s, number, "")
    yield from hasty(s)
    yield from sweep(s, without)
    yield replace(s, version=s.version + 1)


def found(without: str = "") -> tuple[str, int, int]:
    """What is first found wrong, how many states were seen, and in how many of them a sweep has something to do."""
    beginnings: list[State] = [Parts()]
    states = orphans = 0
    for state in reachable(beginnings, lambda s: (n for n in steps(s, without) if n.version <= VERSIONS)):
        assert isinstance(state, Parts)
        states += 1
        if state.listed and not state.data:
            return "a listed layer has lost its data", states, orphans
        orphans += (state.data or state.late) and not state.record and state.writer in ENDED
    return "", states, orphans


@pytest.mark.ci
def test_no_order_breaks_a_promise() -> None:
    broken, states, orphans = found()
    assert not broken
    assert states > 100_000
    assert orphans > 1_000


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(without=rule)[0] == RULES[rule]
