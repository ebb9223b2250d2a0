"""How often, and after what pause, a flow tries again: decorrelated jitter within a total time budget.

The first retry is at once: a closing re-read that found something new has already read what the next attempt needs.
Later pauses are drawn up to a bound that doubles, scaled to what an attempt costs, and the time the last attempt took
is subtracted, so that a flow of long attempts is not punished twice (Nessie adds it; a large commit starves there).
Nor is an hour's work, on a cluster say, thrown away for one race: a few attempts are made however long they take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from graveler_core.errors import Kind, SlowDown
from graveler_core.stores import RetryBudget, Stores
from graveler_core.telemetry import retried

_FEW: Final = 3
"""Attempts that are made, even if the first takes longer than the whole budget."""


def attempts(stores: Stores, what: str, budget: RetryBudget | None = None) -> Iterator[int]:
    """Numbers attempts from 0, pausing between them; for use in a loop that returns from its body on success.

    Each further one is told to the flow that is under way (`telemetry.retried`).

    Raises:
        SlowDown: (`RetriesExhausted`) the budget is spent; nothing of the flow is half done.
    """
    limits = budget or stores.retry_budget
    begun = stores.clock.monotonic()
    bound = limits.least
    number = 0
    while True:
        started = stores.clock.monotonic()
        yield number
        cost = stores.clock.monotonic() - started
        number += 1
        spent = stores.clock.monotonic() - begun
        bound = min(limits.most, 2 * max(bound, cost))
        pause = max(0.0, stores.ids.uniform() * bound - cost) if number > 1 else 0.0
        if number >= _FEW and spent + pause > limits.total:
            raise SlowDown(
                f"{what}: gave way {number} times in {spent:.1f} s; nothing was changed, try again later",
                kind=Kind.RetriesExhausted,
                attempts=number,
            )
        retried(what, number + 1, pause)
        if pause:
            stores.clock.sleep(pause)
