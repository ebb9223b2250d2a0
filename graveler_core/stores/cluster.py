"""Many machines that work on planned key intervals: the port. Spark stands behind it in `jobs`.

Work is a function of its item and of what the stores hold. It may run more than once for one item (retries,
speculation), in any order and side by side: so it writes blobs alone, content-addressed or under a name of the attempt,
and only the result that is handed back counts. No compare-and-swap is ever made in a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

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
