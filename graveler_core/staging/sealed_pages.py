"""Cache of decoded pages of sealed tokens, so that listings behind many tombstones read them once.

A page is the result of one read of the store: the records from a key on, for a token and an interval, with the key at
which the next page begins. Each page is cached when its read is complete, so a scan that ends early caches whole pages
only. A page that ends the token is cached as such only if the store said so.

A cached page may be used again for the following reason. This module reads a token only if a branch record lists it as
sealed, and the record was read before the read of the page began. A write to the token is acknowledged only if its
closing re-read, after the write, finds that the token is still the staging token, which was before the seal. So every
page contains every acknowledged write. A page may miss a write that arrived later, from a process with an old record.
That write has not been acknowledged; it is repeated in the staging token and may or may not be visible until then. A
page may also miss records of a token that is being dropped. Such a token has left its record for good, and an answer
that used the page fails its closing re-read. The staging token is never cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.kv.store import Store
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import StagingToken
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import area
from graveler_core.staging.segment_layer import Cache

_PAGE_BYTES = 1_000
"""Memory used by a page in addition to its records, in bytes."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Consecutive records, and the key from which on there may be more (`None`: there are no more)."""

    records: pa.Table
    following: bytes | None


@dataclass(frozen=True, slots=True)
class SealedPages:
    """Sealed tokens of a branch record, and the cache of their pages."""

    kv: Store
    cache: Cache

    def scan(
        self, token: StagingToken, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
    ) -> Iterator[pa.Table]:
        """Yield records as `area.scan` does, from the cache where possible."""
        at: bytes | None = start
        while at is not None:
            held: _Page | None = self.cache.get((token, at, end))
            if held is None:
                yield from self._read(token, at, end, few)
                return
            if held.records.num_rows:
                yield held.records
            at = held.following

    def _read(self, token: StagingToken, at: bytes, end: bytes | None, few: int | None) -> Iterator[pa.Table]:
        for records in area.scan(self.kv, token, start=at, end=end, few=few):
            following = records.column(KEY)[-1].as_py() + b"\0"
            self.cache.put((token, at, end), _Page(records, following), records.nbytes + _PAGE_BYTES)
            yield records
            at = following
        self.cache.put((token, at, end), _Page(RECORD_SCHEMA.empty_table(), None), _PAGE_BYTES)
