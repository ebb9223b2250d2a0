"""A store around a store that counts what is asked of it: the tests of budgets read it.

Counts operations by verb, and round trips: what a remote store would wait for. A verb for many keys is one round trip
where the inner store has the ability; else its fallback runs in the wrapper and each single call is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from graveler_core.kv.paging import CHUNK_ROWS
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Call, Passing

T = TypeVar("T")


class Counting(Passing):
    """Passes every call on and counts it. `counts` holds calls by verb, `round_trips` their sum in waits.

    A scan counts one round trip for each page of rows that was consumed, and none before its first; `reset` sets both
    back to nothing. Counts are exact for one thread at a time.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.counts: Counter[str] = Counter()
        self.round_trips = 0

    def reset(self) -> None:
        """Forgets what was counted."""
        self.counts.clear()
        self.round_trips = 0

    def step(self, call: Call, work: Callable[[], T]) -> T:
        self.counts[call.verb] += not call.page
        self.round_trips += -(-call.rows // CHUNK_ROWS) if call.verb == "load" else 1
        answer = work()
        if call.verb == "drop_partition" and isinstance(answer, int):
            self.round_trips += answer // CHUNK_ROWS
        if call.page and answer is None:
            # The last batch said that it was the last: nothing was asked.
            self.round_trips -= 1
        return answer
