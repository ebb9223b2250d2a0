"""Comparing two stores row by row, as streams of columns: nothing but a page of each is in memory.

Each partition of the source is compared with that of the same name in the target. That is all of both: where the
registers, branches and cleanup records are equal, they name the same partitions.
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
"""A comparison ends after so many partitions that differ."""
Progress = Callable[[int], object]
"""Told how many more rows were copied or compared."""


class Differs(StrEnum):
    """How a row differs."""

    MISSING = "missing"
    """The target lacks it."""
    SURPLUS = "surplus"
    """The source lacks it."""
    CHANGED = "changed"
    """The values differ."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first row of a partition that differs; what comes behind it was not compared."""

    partition: bytes
    key: bytes
    how: Differs

    def __str__(self) -> str:
        where = b"/".join((self.partition, self.key)).decode(errors="backslashreplace")
        return f"{where} is {self.how}"


@dataclass(frozen=True, slots=True)
class Amount:
    """How much rows are."""

    partitions: int = 0
    """That hold any row."""
    rows: int = 0
    size: int = 0
    """Bytes of keys and values."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.partitions + other.partitions, self.rows + other.rows, self.size + other.size)

    def with_rows(self, batch: pa.RecordBatch) -> Amount:
        """With rows in `ROW_SCHEMA` of the one partition that it counts."""
        size = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
        return Amount(1 if self.rows + batch.num_rows else 0, self.rows + batch.num_rows, self.size + size)


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison found."""

    equal: Amount
    """Rows that are in both."""
    differences: tuple[Difference, ...] = ()
    """One a partition, at most `MAX_DIFFERENCES`."""

    def __add__(self, other: Compared) -> Compared:
        return Compared(self.equal + other.equal, self.differences + other.differences)


def compare_stores(source: Store, target: Store, progress: Progress = lambda more: None) -> Compared:
    """Compare all that is in two stores at rest. Changes nothing."""
    found = compare_contents(source, target, progress)
    for partition in REGISTERS:
        found += compare_partition(source, target, partition, progress=progress)
    return found


def compare_contents(source: Store, target: Store, progress: Progress) -> Compared:
    """Compare all but the registers."""
    found = Compared(Amount())
    for unit in units(source):
        for partition in unit.partitions(source):
            found += compare_partition(source, target, partition, progress=progress)
            if len(found.differences) >= MAX_DIFFERENCES:
                return found
    return found


def compare_partition(
    source: Store, target: Store, partition: bytes, *, prefix: bytes = b"", progress: Progress = lambda more: None
) -> Compared:
    """Compare the rows of a partition whose keys begin so, up to the first that differs."""
    left, right = (scan_arrow(store, partition, prefix=prefix) for store in (source, target))
    equal = Amount()
    for ours, theirs in _side_by_side(left, right):
        same = _equal_rows(ours, theirs)
        equal = equal.with_rows(ours.slice(0, same))
        progress(same)
        if same < max(ours.num_rows, theirs.num_rows):
            return Compared(equal, (_difference(partition, ours.slice(same), theirs.slice(same)),))
    return Compared(equal)


def changed_register(unit: Unit, source: Store, target: Store) -> Difference | None:
    """The first branch or cleanup record of a unit that differs; the repository's own record is no part of its unit."""
    if unit.repository is None:
        return None
    for folder in (keys.branches(unit.repository), keys.cleanups(unit.repository)):
        for difference in compare_partition(source, target, folder.partition, prefix=folder.prefix).differences:
            return difference
    return None


def amount_of_contents(kv: Store) -> Amount:
    """How much a store holds beside the registers: one pass over it."""
    total = Amount()
    for unit in units(kv):
        total += amount_of(kv, unit.partitions(kv))
    return total


def amount_of(kv: Store, partitions: Iterable[bytes]) -> Amount:
    """How much some partitions hold."""
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
    """Two streams cut into pairs of equally many rows; where one has ended, the other has rows and it none."""
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
    """How many of the first rows are equal."""
    rows: int = min(ours.num_rows, theirs.num_rows)
    ours, theirs = ours.slice(0, rows), theirs.slice(0, rows)
    if ours.equals(theirs):
        return rows
    same = pc.and_(pc.equal(ours["key"], theirs["key"]), pc.equal(ours["value"], theirs["value"]))
    return int(pc.index(same, pa.scalar(False)).as_py())


def _difference(partition: bytes, ours: pa.RecordBatch, theirs: pa.RecordBatch) -> Difference:
    """How the first of these rows differ; one of the batches may have none."""
    here: list[bytes] = ours["key"].slice(0, 1).to_pylist()
    there: list[bytes] = theirs["key"].slice(0, 1).to_pylist()
    if here == there:
        return Difference(partition, here[0], Differs.CHANGED)
    if not there or (here and here[0] < there[0]):
        return Difference(partition, here[0], Differs.MISSING)
    return Difference(partition, there[0], Differs.SURPLUS)
