"""Writing rows into the target of a copy, and remembering how far it has come.

Each step is: write rows, then swap the marker to the place behind the last of them. What a crash leaves between the two
is written again, to equal values. The swap expects the marker of this very run: where another run has taken over, it
fails, and this run ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa

from graveler_core.errors import Conflict, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.kv.abilities import Item
from graveler_core.kv.bulk import load, set_many
from graveler_core.kv.paging import PAGE_BYTES, PAGE_ROWS
from graveler_core.kv.store import Store
from graveler_core.model.copying import Copying
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS, Held

FEW_ROWS = 500
"""Batches of fewer rows are gathered, over partitions: most stores take a round trip for each write."""


class Loading:
    """The target of a copy, and its marker."""

    def __init__(self, target: Store, marker: Held[Copying]) -> None:
        self.target = target
        self._marker = marker
        self._gathered: list[Item] = []
        self._size = 0
        self._behind: dict[str, str | bytes] = {}

    @property
    def place(self) -> Copying:
        """How far the copy has come, for certain."""
        return self._marker.value

    def move(self, **place: str | bytes | bool) -> None:
        """Swap the marker to another place.

        Raises:
            Conflict: (`LostRace`) another run copies into this store.
        """
        self._behind = {}
        record = self.place.model_copy(update=place)
        if record == self.place:
            return
        try:
            self._marker = access.replace(self.target, keys.copying(), self._marker, record)
        except PredicateFailed as e:
            raise another_run() from e

    def add(self, partition: bytes, batch: pa.RecordBatch) -> None:
        """Write the next rows of a partition of the unit at `place`, now or with the next ones."""
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
        """Write what was gathered, and move behind all that was added."""
        if self._gathered:
            put(self.target, self._gathered)
        self._gathered, self._size = [], 0
        if self._behind:
            self.move(**self._behind)

    def end(self) -> None:
        """Remove the marker: the copy is whole."""
        access.remove(self.target, keys.copying(), self._marker)


def another_run() -> Conflict:
    """The error where a marker is not the one that this run has written."""
    return Conflict("another run copies into the target; only one may", kind=Kind.LostRace)


def put(target: Store, items: Sequence[Item]) -> None:
    """Write some rows of any partitions."""
    resent(lambda: set_many(target, items))


def resent(write: Callable[[], object]) -> None:
    """Do a write that may be done twice, again while its answers are lost."""
    for _ in range(LOST_ANSWERS - 1):
        with suppress(OutcomeUnknown):
            write()
            return
    write()
