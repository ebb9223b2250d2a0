"""Writes of a copy to its target, and its progress marker.

Each step writes rows and then swaps the marker to the position after the last of them. After a crash in between, the
rows are written again, with equal values. The swap expects the marker of this run. If another run has taken over, the
swap fails and this run ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa

from graveler_core.errors import Conflict, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.kv.bulk import load, set_many
from graveler_core.kv.paging import PAGE_BYTES, PAGE_ROWS
from graveler_core.kv.store import Item, Store
from graveler_core.model.copying import Copying
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS, Held

FEW_ROWS = 500
"""Number of rows below which batches are collected, across partitions, because most stores need a round trip for each
write.
"""


class Loading:
    """Target of a copy, with its marker."""

    def __init__(self, target: Store, marker: Held[Copying]) -> None:
        self.target = target
        self._marker = marker
        self._gathered: list[Item] = []
        self._size = 0
        self._behind: dict[str, str | bytes] = {}

    @property
    def place(self) -> Copying:
        """Confirmed position of the copy."""
        return self._marker.value

    def move(self, **place: str | bytes | bool) -> None:
        """Swap the marker to another position.

        Raises:
            Conflict: Another run copies into this store (`LostRace`).
        """
        self._behind = {}
        record = self.place.model_copy(update=place)
        if record == self.place:
            return
        try:
            self._marker = access.replace(self.target, keys.copying(), self._marker, record)
        except PredicateFailed:
            raise another_run() from None

    def add(self, partition: bytes, batch: pa.RecordBatch) -> None:
        """Write the next rows of a partition of the current unit, at once or together with later rows."""
        if batch.num_rows < FEW_ROWS:
            columns = (column.to_pylist() for column in batch.columns)
            self._gathered += [(partition, key, value) for key, value in zip(*columns, strict=True)]
            self._size += batch.nbytes
        else:
            self.flush()
            resent(lambda: load(self.target, partition, batch["key"], batch["value"]))
        self._behind = {"partition": partition, "key": batch["key"][-1].as_py()}
        if batch.num_rows >= FEW_ROWS or len(self._gathered) >= PAGE_ROWS or self._size >= PAGE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the collected rows, and move the marker after them."""
        if self._gathered:
            put(self.target, self._gathered)
        self._gathered, self._size = [], 0
        if self._behind:
            self.move(**self._behind)

    def end(self) -> None:
        """Remove the marker of a complete copy."""
        access.remove(self.target, keys.copying(), self._marker)


def another_run() -> Conflict:
    """Return the error for a marker that this run has not written."""
    return Conflict("another run copies into the target; only one may", kind=Kind.LostRace)


def put(target: Store, items: Sequence[Item]) -> None:
    """Write rows of any partitions."""
    resent(lambda: set_many(target, items))


def resent(write: Callable[[], object]) -> None:
    """Execute an idempotent write. Repeat it while its responses are lost."""
    for _ in range(LOST_ANSWERS - 1):
        with suppress(OutcomeUnknown):
            write()
            return
    write()
