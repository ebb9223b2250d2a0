"""Wrapper of a key-value store that counts calls, for tests of request budgets.

It counts calls by method, and the round trips to a remote store. A method for many keys takes one round trip. To count
the single calls of a store that overrides none of these methods, wrap this wrapper in
`graveler_core.testing.plain_store.PlainStore`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from graveler_core.kv.paging import CHUNK_ROWS
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall

T = TypeVar("T")


class Counting(Passing):
    """Store that passes every call on and counts it: `counts` by method, and `round_trips` in total.

    A scan counts one round trip for each page that was read, and none before the first page. Counts are exact only with
    one thread at a time.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.counts: Counter[str] = Counter()
        self.round_trips = 0

    def reset(self) -> None:
        """Set all counters to 0."""
        self.counts.clear()
        self.round_trips = 0

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        self.counts[call.verb] += not call.page
        self.round_trips += -(-call.rows // CHUNK_ROWS) if call.verb == "load" else 1
        answer = work()
        if call.verb == "drop_partition" and isinstance(answer, int):
            self.round_trips += answer // CHUNK_ROWS
        if call.page and answer is None:
            # The batch before was marked as the last one, so the store was not asked again.
            self.round_trips -= 1
        return answer
