"""Judging when compactions begin: each says so in the swap that seals, and gives way to one that began shortly before.

Promise 8 needs none of this. It spares work: of compactors that find the same branch under pressure, one builds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.proofs.simulation.history import History, Operation, Outcome
from tests.proofs.simulation.observe import Observer, State

TOO_EARLY = "began within the interval of another"
"""What is said of a compaction that should have given way."""


def violations(history: History, observer: Observer) -> Iterator[str]:
    """What is wrong with the start times of a history."""
    compactions = [operation for operation in history.operations if operation.kind == "compact"]
    begun: dict[object, Operation] = {}
    for before, after in pairwise(observer.states):
        if not _begins(before, after):
            continue
        at_work = [o for o in compactions if o.actor == after.actor and o.start <= after.step <= o.end]
        if len(at_work) != 1:  # a swap that came late, when nobody waited for it any more
            continue
        (mine,) = at_work
        assert before.record is not None
        assert after.record is not None
        old, new = before.record.compaction_start_time, after.record.compaction_start_time
        assert new is not None
        if old is not None and new - old < mine.every and begun.get(old) is not mine:
            yield f"{mine}: {TOO_EARLY}, at step {after.step}: {old.time()}, {new.time()}"
        begun[new] = mine
    for operation in compactions:
        during = list(observer.between(operation.start, operation.end))
        stood = all(state.record is not None for state in during)
        if operation.outcome is Outcome.DONE and stood and not any(_begins(*pair) for pair in pairwise(during)):
            yield f"{operation}: never said that it began"


def _begins(before: State, after: State) -> bool:
    """Whether a compaction of this very branch began with this state."""
    if before.record is None or after.record is None or before.record.uid != after.record.uid:
        return False
    return before.record.compaction_start_time != after.record.compaction_start_time
