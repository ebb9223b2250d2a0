"""Sorted changes as a stream of tables, read by key interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import InvalidInput
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.sorted_keys import KEY, require_increasing, upper_bound

MAX_TAKE_BYTES = 64 << 20
"""Approximate size of one read, in bytes. A few reads together stay small in memory, and a column stays far below
Arrow's limit of 2 GiB of text.
"""


class ChangeStream:
    """Stream of tables or batches in `RECORD_SCHEMA` with ascending keys; one table is in memory at a time.

    Reading raises `InvalidInput` if keys are not in ascending order.
    """

    def __init__(self, changes: pa.Table | Iterable[pa.Table | pa.RecordBatch]) -> None:
        tables = [changes] if isinstance(changes, pa.Table) else changes
        self._tables: Iterator[pa.Table | pa.RecordBatch] = iter(tables)
        self._table: pa.Table = RECORD_SCHEMA.empty_table()
        self._last: bytes | None = None
        self.taken = 0
        """Number of changes read so far."""
        self.tombstones = 0
        """Number of removals read so far."""
        self._fill()

    def peek(self) -> bytes | None:
        """Return the key of the next change, or `None` at the end."""
        return self._table.column(KEY)[0].as_py() if self._table.num_rows else None

    def take(self, through: bytes | None, limit: int) -> list[pa.Table]:
        """Return the next changes with key ≤ `through` (`None`: all), about `limit` rows at most, and fewer if they are
        large.
        """
        taken: list[pa.Table] = []
        while limit > 0 and self._table.num_rows:
            within = self._table.num_rows if through is None else upper_bound(self._table.column(KEY), through)
            if within == 0:
                break
            row_bytes = 1 + self._table.nbytes // self._table.num_rows
            part = self._table.slice(0, max(1, min(within, limit, MAX_TAKE_BYTES // row_bytes)))
            limit -= max(part.num_rows, limit * part.nbytes // MAX_TAKE_BYTES)
            taken.append(part)
            self.taken += part.num_rows
            self.tombstones += pc.sum(part.column(TOMBSTONE)).as_py() or 0
            self._table = self._table.slice(part.num_rows)
            self._fill()
        return taken

    def _fill(self) -> None:
        while self._table.num_rows == 0:
            following = next(self._tables, None)
            if following is None:
                return
            table = pa.Table.from_batches([following]) if isinstance(following, pa.RecordBatch) else following
            if table.num_rows:
                self._admit(table.select(RECORD_SCHEMA.names))

    def _admit(self, table: pa.Table) -> None:
        require_increasing(table)
        keys = table.column(KEY)
        if self._last is not None and keys[0].as_py() <= self._last:
            raise InvalidInput("keys: must be sorted as bytes and unique across all batches")
        self._last = keys[-1].as_py()
        self._table = table
