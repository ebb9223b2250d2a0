"""Retries of a flow: decorrelated jitter within a total time budget.

The first retry is immediate: a closing re-read that found a change has already read the records for the next
attempt. Later pauses are random below a bound that doubles each time and is scaled to the duration of an attempt.
The duration of the last attempt is subtracted from the pause, so that a flow with long attempts does not wait twice.
Without this subtraction, a large commit starves (the idea is from Nessie). An hour of work, for example on a
cluster, is not given up after one lost race: a minimum number of attempts is made regardless of their duration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from graveler_core.errors import Kind, SlowDown
from graveler_core.stores import RetryBudget, Stores
from graveler_core.telemetry import retried

T = TypeVar("T")
_FEW: Final = 3
"""Number of attempts that are made even if the first one takes longer than the whole budget."""


def retry(stores: Stores, what: str, attempt: Callable[[], T | None], budget: RetryBudget | None = None) -> T:
    """Repeat an attempt until it returns a result, with pauses in between.

    Args:
        stores: Clock, source of randomness, and the default budget.
        what: Name of the flow in error messages and telemetry.
        attempt: Returns its result, or `None` if another change came first. An error ends the flow.
        budget: Limits of the total time and of the pauses, in seconds.

    Returns:
        The result of the attempt that succeeded.

    Raises:
        SlowDown: The budget is spent (`RetriesExhausted`). Nothing was changed.
    """
    limits = budget or stores.retry_budget
    begun = stores.clock.monotonic()
    bound = limits.least
    number = 0
    while True:
        started = stores.clock.monotonic()
        result = attempt()
        if result is not None:
            return result
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
