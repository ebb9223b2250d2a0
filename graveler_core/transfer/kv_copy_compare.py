"""Comparison of two stores, row by row, as streams of columns. One page of each store is in memory.

Each partition of the source is compared with the partition of the same name in the target. This covers both stores
completely: if registers, branches and cleanup records are equal, they refer to the same partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.kv.bulk import scan_arrow
from graveler_core.kv.store import Store
from graveler_core.records import layout as keys
from graveler_core.transfer.kv_copy_walk import REGISTERS, Unit, units

MAX_DIFFERENCES = 100
"""Number of different partitions after which a comparison ends."""
Progress = Callable[[int], object]
"""Called with the number of additional rows that were copied or compared."""


class Differs(StrEnum):
    """Kind of difference."""

    MISSING = "missing"
    """The row is missing in the target."""
    SURPLUS = "surplus"
    """The row is missing in the source."""
    CHANGED = "changed"
    """The values are different."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """First difference of a partition. Later rows were not compared."""

    partition: bytes
    key: bytes
    how: Differs

    def __str__(self) -> str:
        where = b"/".join((self.partition, self.key)).decode(errors="backslashreplace")
        return f"{where} is {self.how}"


@dataclass(frozen=True, slots=True)
class Amount:
    """Number and size of rows."""

    partitions: int = 0
    """Number of partitions with any row."""
    rows: int = 0
    size: int = 0
    """Size of keys and values in bytes."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.partitions + other.partitions, self.rows + other.rows, self.size + other.size)

    def with_rows(self, batch: pa.RecordBatch) -> Amount:
        """Return the amount with additional rows of the same partition, in `ROW_SCHEMA`."""
        size = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
        return Amount(1 if self.rows + batch.num_rows else 0, self.rows + batch.num_rows, self.size + size)


@dataclass(frozen=True, slots=True)
class StoreComparison:
    """Result of a comparison."""

    equal: Amount
    """Rows that are equal in both stores."""
    differences: tuple[RowDifference, ...] = ()
    """One difference for each partition, at most `MAX_DIFFERENCES`."""

    def __add__(self, other: StoreComparison) -> StoreComparison:
        return StoreComparison(self.equal + other.equal, self.differences + other.differences)


def compare_stores(source: Store, target: Store, progress: Progress = lambda more: None) -> StoreComparison:
    """Compare two stores that are not in use. Changes nothing."""
    found = compare_contents(source, target, progress)
    for partition in REGISTERS:
        found += compare_partition(source, target, partition, progress=progress)
    return found


def compare_contents(source: Store, target: Store, progress: Progress) -> StoreComparison:
    """Compare everything except the registers."""
    found = StoreComparison(Amount())
    for unit in units(source):
        for partition in unit.partitions(source):
            found += compare_partition(source, target, partition, progress=progress)
            if len(found.differences) >= MAX_DIFFERENCES:
                return found
    return found


def compare_partition(
    source: Store, target: Store, partition: bytes, *, prefix: bytes = b"", progress: Progress = lambda more: None
) -> StoreComparison:
    """Compare the rows of a partition with a prefix, up to the first difference."""
    left, right = (scan_arrow(store, partition, prefix=prefix) for store in (source, target))
    equal = Amount()
    for ours, theirs in _side_by_side(left, right):
        same = _equal_rows(ours, theirs)
        equal = equal.with_rows(ours.slice(0, same))
        progress(same)
        if same < max(ours.num_rows, theirs.num_rows):
            return StoreComparison(equal, (_difference(partition, ours.slice(same), theirs.slice(same)),))
    return StoreComparison(equal)


def changed_register(unit: Unit, source: Store, target: Store) -> RowDifference | None:
    """Return the first branch or cleanup record of a unit that differs. The repository record is not part of its
    unit.
    """
    if unit.repository is None:
        return None
    for folder in (keys.branches(unit.repository), keys.cleanups(unit.repository)):
        for difference in compare_partition(source, target, folder.partition, prefix=folder.prefix).differences:
            return difference
    return None


def amount_of_contents(kv: Store) -> Amount:
    """Return the amount of everything except the registers, in one pass."""
    total = Amount()
    for unit in units(kv):
        total += amount_of(kv, unit.partitions(kv))
    return total


def amount_of(kv: Store, partitions: Iterable[bytes]) -> Amount:
    """Return the amount of some partitions."""
    total = Amount()
    for partition in partitions:
        held = Amount()
        for batch in scan_arrow(kv, partition):
            held = held.with_rows(batch)
        total += held
    return total


def _side_by_side(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield two streams in pairs with equal numbers of rows. When one stream has ended, its part is empty."""
    ours, theirs = next(left, None), next(right, None)
    while ours is not None and theirs is not None:
        rows = min(ours.num_rows, theirs.num_rows)
        yield ours.slice(0, rows), theirs.slice(0, rows)
        ours = ours.slice(rows) if rows < ours.num_rows else next(left, None)
        theirs = theirs.slice(rows) if rows < theirs.num_rows else next(right, None)
    if ours is not None:
        yield ours, ours.slice(0, 0)
    elif theirs is not None:
        yield theirs.slice(0, 0), theirs


def _equal_rows(ours: pa.RecordBatch, theirs: pa.RecordBatch) -> int:
    """Return the number of equal rows at the beginning."""
    rows: int = min(ours.num_rows, theirs.num_rows)
    ours, theirs = ours.slice(0, rows), theirs.slice(0, rows)
    if ours.equals(theirs):
        return rows
    same = pc.and_(pc.equal(ours["key"], theirs["key"]), pc.equal(ours["value"], theirs["value"]))
    return int(pc.index(same, pa.scalar(False)).as_py())


def _difference(partition: bytes, ours: pa.RecordBatch, theirs: pa.RecordBatch) -> RowDifference:
    """Return the difference of the first rows. One of the batches may be empty."""
    here: list[bytes] = ours["key"].slice(0, 1).to_pylist()
    there: list[bytes] = theirs["key"].slice(0, 1).to_pylist()
    if here == there:
        return RowDifference(partition, here[0], Differs.CHANGED)
    if not there or (here and here[0] < there[0]):
        return RowDifference(partition, here[0], Differs.MISSING)
    return RowDifference(partition, there[0], Differs.SURPLUS)
