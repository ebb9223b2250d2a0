"""Deletion of many objects, by as few requests as the store allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from graveler_core.blobs.port import Blobs
from graveler_core.errors import GravelerError

T = TypeVar("T")
U = TypeVar("U")


class Map(Protocol):
    """Function like `map`. It may be concurrent, like the method of an executor."""

    def __call__(self, work: Callable[[T], U], items: Iterable[T], /) -> Iterator[U]: ...


def delete_all(
    blobs: Blobs, addresses: Sequence[str], run: Map = map, deleted: Callable[[int], object] = lambda count: None
) -> None:
    """Delete objects. Missing objects are not errors.

    Args:
        blobs: Storage namespace.
        addresses: Addresses of the objects.
        run: Runs the requests.
        deleted: Called after each request with the number of objects that it has deleted.

    Raises:
        GravelerError: Objects may still exist. The error is that of the first one. If its request was for several
            objects, `details["failed"]` has the addresses of those that failed. Other objects may be deleted.
    """
    work = batches(addresses, blobs.deletes_at_once)
    for batch, failed in zip(work, run(blobs.delete_many, work), strict=True):
        deleted(len(batch) - len(failed))
        if failed:
            raise _failure(failed, len(batch))


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Divide a sequence into sequences of at most `size` items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def _failure(failed: dict[str, GravelerError], count: int) -> GravelerError:
    """Return the first error of a request, and the number of objects."""
    error = next(iter(failed.values()))
    if count == 1:
        return error
    message = f"{len(failed)} of {count} objects could not be deleted: {error.message}"
    return type(error)(message, kind=error.kind, **{**error.details, "failed": list(failed)})
