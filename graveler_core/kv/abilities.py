"""What a store may do better than one key at a time. Each ability is a protocol of its own, and none is required.

Callers never ask for an ability: they call the functions of `graveler_core.kv.bulk`, which use it where the store has
it and a fallback, written once, where it has not. Arguments have been checked against the limits when they arrive here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import pyarrow as pa

from graveler_core.kv.paging import Interval
from graveler_core.kv.store import Predicate, Stored

Item = tuple[bytes, bytes, bytes]
"""Partition, key, value."""
Description = dict[str, str | int | float | bool | None]
"""What may be told of a store: names and plain values, and no secret among them."""
Expected = tuple[bytes, bytes, Predicate]
"""Partition, key, and what is expected to be found there."""


@runtime_checkable
class GetsMany(Protocol):
    """Reads several keys of several partitions in one round trip."""

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        """One answer for each (partition, key), in their order; all of one snapshot or each as `get`."""
        ...


@runtime_checkable
class SetsMany(Protocol):
    """Writes several keys of several partitions in one round trip."""

    def set_many(self, items: Sequence[Item]) -> None:
        """Plain sets, the last one of a key wins."""
        ...

    def sets_atomically(self) -> bool:
        """Whether `set_many` is all or nothing; if not, a failed one may have written any part of its items."""
        ...


@runtime_checkable
class DeletesTogether(Protocol):
    """Deletes keys on conditions that other keys must meet too, all of any partitions, in one atomic step."""

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        """Removes the distinct `rows` if their predicates and those of `unchanged` hold, else PredicateFailed."""
        ...

    def deletes_together(self) -> bool:
        """Whether it can: a store around a store can what the inner one can."""
        ...


@runtime_checkable
class Loads(Protocol):
    """Takes large columns of one partition."""

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """Plain sets of distinct keys in any order; not atomic, and no transaction holds more than 5,000 rows."""
        ...


@runtime_checkable
class ScansArrow(Protocol):
    """Scans to columns."""

    def scan_arrow(self, partition: bytes, keys: Interval) -> Iterator[pa.RecordBatch]:
        """Batches (key: binary, value: binary) in key order, paged as `scan` is."""
        ...


@runtime_checkable
class DropsPartitions(Protocol):
    """Empties a partition without reading it."""

    def drop_partition(self, partition: bytes) -> int:
        """Removes all rows, at most 5,000 a transaction; returns how many."""
        ...


@runtime_checkable
class TakesTurns(Protocol):
    """Lets the processes that share it queue for a name. For speed and fairness alone: nothing may rest on it."""

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        """Waits for the turn at most `patience` seconds, keeps it inside the `with` statement, else goes on without.

        Raises nothing of its own, whatever state the store is in.
        """
        ...


@runtime_checkable
class CountsRows(Protocol):
    """Knows how many rows a partition holds without handing them over."""

    def about_rows(self, partition: bytes) -> int:
        """About how many rows there are, within a factor of two while nobody writes; 0 only where there are none."""
        ...


@runtime_checkable
class SplitsPartitions(Protocol):
    """Knows where to cut a partition."""

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        """At most `pieces` - 1 ascending keys that cut the partition into pieces of about equal row counts."""
        ...


@runtime_checkable
class Describes(Protocol):
    """Tells of itself: for diagnostics, where people look for what is wrong around a store."""

    def describe(self) -> Description:
        """`backend`, and what else may matter: version, durability, settings of the server. Reads only; no secret."""
        ...
