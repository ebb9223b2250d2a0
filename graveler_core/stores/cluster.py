"""The port for clusters: many machines that work on planned key ranges. `graveler.spark` implements it.

A task is a function of its item and of the stored data. It may run several times for one item (retries,
speculation), in any order and concurrently. It therefore writes only blobs, either content-addressed or with a name
of the attempt, and only the result that is returned counts. Workers never make a compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

if TYPE_CHECKING:
    from graveler_core.stores.stores import Stores

T = TypeVar("T")
U = TypeVar("U")


class Cluster(Protocol):
    """A cluster of machines that work on planned key ranges."""

    def tasks(self, rows: int) -> int:
        """Return the number of tasks for work on about this number of rows. 1 means that the caller should do the work
        itself.
        """

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        """Yield the results of a function for each item, in the order of the items, lazily. Only one result is held at
        a time.

        Args:
            work: A picklable function of a module, or a `functools.partial` of one with picklable frozen values. It
                is called in a worker, with stores that the worker opened itself. Its name is shown to users as the
                description of the work.
            items: Picklable frozen values.

        Yields:
            One result for each item.

        Raises:
            GravelerError: the first error of a worker, with its class, kind, message and details.
        """

    def sort(
        self,
        read: Callable[[Stores, T], Iterator[pa.Table]],
        items: Sequence[T],
        split_points: Sequence[bytes],
        work: Callable[[Stores, int, Iterator[pa.Table]], U],
    ) -> Iterator[U]:
        """Sort the rows of the items by key, and yield the results of a function for each partition, in order, lazily.
        Only one result is held at a time.

        Args:
            read: Function that returns the rows of an item, as tables in `blobs.port.LISTED`, in any order. The
                requirements for `work` of `map` apply.
            items: As for `map`.
            split_points: Ascending keys. A partition contains the keys after one split point up to and including the
                next. There is one partition more than split points.
            work: Function that receives the number of the partition, from 0, and its rows in order of their keys. The
                requirements for `work` of `map` apply.

        Yields:
            One result for each partition.

        Raises:
            GravelerError: as for `map`.
        """


@runtime_checkable
class SortedRows(Protocol):
    """Rows on many machines, as partitions of tables with `key` and other columns of an entry.

    The keys of a partition are in byte order, and before all keys of the next partition. Rows with the same key are
    in the same partition.
    """

    def map(self, cluster: Cluster | None, work: Callable[[Stores, Iterator[pa.RecordBatch]], U]) -> Iterator[U]:
        """Yield the results of a function for each partition, in order. Only one result is held at a time. Partitions
        without rows may be left out.

        Args:
            cluster: The cluster that holds the rows.
            work: As for `Cluster.map`; it is called with the batches of a partition.

        Yields:
            One result for each partition.

        Raises:
            InvalidInput: the rows are not on such a cluster.
            GravelerError: the first error of a worker, with its class, kind, message and details.
        """
