"""Many machines that work on planned key intervals: the port. Spark stands behind it in `jobs`.

Work is a function of its item and of what the stores hold. It may run more than once for one item (retries,
speculation), in any order and side by side: so it writes blobs alone, content-addressed or under a name of the attempt,
and only the result that is handed back counts. No compare-and-swap is ever made in a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from graveler_core.stores.stores import Stores

T = TypeVar("T")
U = TypeVar("U")


class Cluster(Protocol):
    """Many machines that work on planned key intervals."""

    def pieces(self, rows: int) -> int:
        """Into how many parts work on about so many rows is to be cut; 1: it is not worth it, do it here."""
        ...

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        """Results in the order of the items, lazily, each held only once.

        Args:
            work: A picklable function of a module, or a `functools.partial` of one over picklable frozen values. It is
                called in a worker, with stores that the worker opened itself. People are told its name, in words, as
                what is being done.
            items: Picklable frozen values.

        Raises:
            GravelerError: the first error of a worker, with its class, kind, message and details.
        """
        ...

    def sort(
        self,
        read: Callable[[Stores, T], Iterator[pa.Table]],
        items: Sequence[T],
        cuts: Sequence[bytes],
        work: Callable[[Stores, int, Iterator[pa.Table]], U],
    ) -> Iterator[U]:
        """Results of pieces of what the items hold, sorted by key: in order of the pieces, lazily, each held once.

        Args:
            read: Gives the rows of an item, as tables in `blobs.port.LISTED`, in any order. Sent as `map` sends work.
            items: As for `map`.
            cuts: Rising keys: a piece holds the keys behind one and up to the next. So there is a piece more than cuts.
            work: Is given the piece's number, from 0 on, and its rows in order of their keys, equal keys side by side.
                Sent likewise.

        Raises:
            GravelerError: as `map`.
        """
        ...


class SortedRows(Protocol):
    """Rows that lie on many machines, as tables with `key` and other columns of an entry, in parts.

    The keys of a part are in byte order, and before all keys of the next part; so rows of one key are in one part.
    """

    def map(self, cluster: Cluster | None, work: Callable[[Stores, Iterator[pa.RecordBatch]], U]) -> Iterator[U]:
        """What comes of each part, in their order, each held only once; perhaps not of parts without rows.

        Args:
            cluster: The machines.
            work: As for `Cluster.map`; it is called with the batches of a part.

        Raises:
            InvalidInput: the rows do not lie on such machines.
            GravelerError: the first error of a worker, with its class, kind, message and details.
        """
        ...
