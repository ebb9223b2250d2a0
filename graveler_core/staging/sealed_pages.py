"""Pages of sealed tokens, kept decoded in memory: who lists behind many tombstones reads them once.

A page is what one read of the store gave from a key on, under the token and the interval that was asked for, with the
key at which the next page begins. Pages are kept one by one, each when its read is complete, so a scan that ends early
leaves a whole number of them, and nothing that only looks like the end: that is a page too, kept when the store said
so.

Why a page may be used again. A token is read here only for a record that lists it below its first layer, thus after
the swap that sealed it, and the record was read before this read began. A write into the token is acknowledged only
if its closing re-read, which comes after the write, finds the token still open: that was before the seal. So every
page holds every acknowledged write. What a page may miss is a write that landed later, by a writer with an old record:
it has not been acknowledged, is done again in the open token, and may be seen or not until then. What a page may hold
too little of is a token that is being dropped: it has left its record for good, no record lists it again, and an answer
that used the page fails its closing re-read. The open token is never kept: it was read before it was sealed.
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
"""What a page takes in memory besides its records."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Records in a row, and the key from which on there may be more; None: there are none."""

    records: pa.Table
    following: bytes | None


@dataclass(frozen=True, slots=True)
class SealedPages:
    """Tokens that a record lists as sealed, and where their pages are kept."""

    kv: Store
    cache: Cache

    def scan(
        self, token: StagingToken, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
    ) -> Iterator[pa.Table]:
        """`area.scan`, from memory as far as pages were read before."""
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
