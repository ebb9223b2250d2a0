"""Stores that are wrong in one way each. The suite is as good as what it finds in them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from graveler_core.errors import PredicateFailed
from graveler_core.kv import bulk
from graveler_core.kv.columns import batch_of_rows
from graveler_core.kv.limits import MAX_KEY
from graveler_core.kv.paging import KeyBounds
from graveler_core.kv.store import EXISTS, Expected, Item, KeyValue, Predicate, Stored
from graveler_core.testing.plain_store import PlainStore


class DropsPredicate(PlainStore):
    """Writes whatever was expected."""

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self.inner.set(partition, key, value)
        return Predicate(value)


class SignedOrder(PlainStore):
    """Orders bytes as signed numbers: 0x80 … 0xff before 0x00."""

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        rows = self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit)
        return iter(sorted(rows, key=lambda row: [byte - 256 if byte > 127 else byte for byte in row.key]))


class LosesEmptyValue(PlainStore):
    """Takes an empty value for no value."""

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        found = self.inner.get(partition, key)
        return found if found and found.value else None


class ScansByOffset(PlainStore):
    """Finds its next page by counting rows: a deletion behind the scan hides rows before it."""

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        self.inner.scan(partition, limit=limit).close()  # type: ignore[attr-defined]
        return self._pages(partition, prefix, start, end, limit)

    def _pages(
        self, partition: bytes, prefix: bytes, start: bytes, end: bytes | None, limit: int | None
    ) -> Iterator[KeyValue]:
        offset = 0
        while True:
            rows = list(self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit))
            page = rows[offset : offset + 5_000]
            if not page:
                return
            yield from page
            offset += len(page)


class ChecksThenSets(PlainStore):
    """Looks first and writes later, as two steps."""

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self._check(partition, key, predicate)
        self.inner.set(partition, key, value)
        return Predicate(value)

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self._check(partition, key, predicate)
        self.inner.delete(partition, key)

    def _check(self, partition: bytes, key: bytes, predicate: Predicate | None) -> None:
        found = self.inner.get(partition, key)
        holds = found is not None if predicate == EXISTS else (found and found.predicate) == predicate
        if not holds:
            raise PredicateFailed(f"key {key!r} was expected otherwise")
        time.sleep(0.002)


class CutsLongBounds(PlainStore):
    """Cuts a bound to the length of the largest key."""

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        return self.inner.scan(partition, prefix=prefix, start=start[:MAX_KEY], end=end and end[:MAX_KEY], limit=limit)


class PagesByRowsAlone(PlainStore):
    """Reads ten thousand rows at once, however large they are."""

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        rows = iter([(row.key, row.value) for row in self.inner.scan(partition, start=keys.lower, end=keys.upper)])
        while page := list(islice(rows, 10_000)):
            yield batch_of_rows(page)


class ForgetsTheRestOfABulkWrite(PlainStore):
    """Writes what fits into one message of 4 MiB."""

    def set_many(self, items: Sequence[Item]) -> None:
        left = 4 * 1_024 * 1_024
        for partition, key, value in items:
            left -= len(value)
            if left > 0:
                self.inner.set(partition, key, value)


class StaleWhileScanning(PlainStore):
    """Answers `get` from the snapshot of a scan that is still open."""

    snapshot: dict[bytes, KeyValue] | None = None

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        if self.snapshot is None:
            return self.inner.get(partition, key)
        row = self.snapshot.get(key)
        return None if row is None else Stored(row.value, row.predicate)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        return self._rows(partition, self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit))

    def _rows(self, partition: bytes, rows: Iterator[KeyValue]) -> Iterator[KeyValue]:
        self.snapshot = {row.key: row for row in self.inner.scan(partition)}
        yield from rows
        self.snapshot = None


class ChecksThenDeletes(PlainStore):
    """Looks at all conditions first, and deletes in a second step."""

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        for partition, key, predicate in (*rows, *unchanged):
            found = self.inner.get(partition, key)
            if found is None or predicate not in (EXISTS, found.predicate):
                raise PredicateFailed(f"key {key!r} was expected otherwise")
        time.sleep(0.002)
        for partition, key, _ in rows:
            self.inner.delete(partition, key)

    def deletes_together(self) -> bool:
        return True


class SwapsBeforeItWrites(PlainStore):
    """Swaps the last key first, and then writes the others."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        partition, key, value = swapped
        after = self.inner.set_if(partition, key, value, predicate)
        time.sleep(0.002)
        self.inner.set_many(items)
        return after


class WritesWhateverWasSwapped(PlainStore):
    """Writes everything, even if the predicate of the last key does not hold."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        self.inner.set_many([*items, swapped])
        return Predicate(swapped[2])


class DeletesWhateverElseChanged(PlainStore):
    """Looks at what it deletes, not at the other conditions."""

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        bulk.delete_together(self.inner, rows, [])

    def deletes_together(self) -> bool:
        return True
