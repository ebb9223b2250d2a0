"""Deletion of many objects, by as few requests as the store allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol, TypeVar

from graveler_core.blobs.port import Blobs
from graveler_core.errors import GravelerError, Kind, OutcomeUnknown, SlowDown, Unavailable

T = TypeVar("T")
U = TypeVar("U")


LISTED: Final = 1_000
"""Maximum number of addresses that the error of refused deletions lists."""


@dataclass(slots=True)
class RefusedDeletions:
    """Objects that a store refuses to delete. There may be millions: only some of their addresses are kept."""

    count: int = 0
    addresses: list[str] = field(default_factory=list)
    """Addresses of the first ones."""
    error: GravelerError | None = None
    """Error of the first one."""

    def add(self, refused: Mapping[str, GravelerError]) -> None:
        """Add objects, by their addresses, with the errors of the store."""
        if self.error is None and refused:
            self.error = next(iter(refused.values())).with_traceback(None)
        self.count += len(refused)
        self.addresses += islice(refused, max(0, LISTED - len(self.addresses)))

    def extend(self, others: RefusedDeletions) -> None:
        """Add the objects of another collection of them."""
        self.error = self.error or others.error
        self.count += others.count
        self.addresses += others.addresses[: max(0, LISTED - len(self.addresses))]

    def require_none(self, deleted: int) -> None:
        """Raise the first error, with some of the addresses, if there are such objects.

        Args:
            deleted: Number of objects that were deleted.

        Raises:
            GravelerError: The store refuses to delete some objects. `details["failed"]` has the first addresses.
        """
        if self.error is not None:
            raise _failure(self.error, self.addresses, self.count, self.count + deleted)


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
            raise _failed_request(failed, len(batch))


def delete_permitted(
    blobs: Blobs, addresses: Sequence[str], run: Map = map, deleted: Callable[[int], object] = lambda count: None
) -> dict[str, GravelerError]:
    """Delete objects, and go on if the store refuses to delete some of them. Missing objects are not errors.

    Args:
        blobs: Storage namespace.
        addresses: Addresses of the objects.
        run: Runs the requests.
        deleted: Called after each request with the number of objects that it has deleted.

    Returns:
        The errors of the objects that the store refuses to delete.

    Raises:
        GravelerError: The store has failed, as for `delete_all`.
    """
    refused = dict[str, GravelerError]()
    work = batches(addresses, blobs.deletes_at_once)
    for batch, failed in zip(work, run(blobs.delete_many, work), strict=True):
        deleted(len(batch) - len(failed))
        others = {address: error for address, error in failed.items() if not is_refusal(error)}
        if others:
            raise _failed_request(others, len(batch))
        refused |= failed
    return refused


def is_refusal(error: GravelerError) -> bool:
    """Return true if an error is about one object, such as one under a legal hold, and other objects can be deleted."""
    return error.kind is Kind.PermissionDenied or not isinstance(error, (OutcomeUnknown, SlowDown, Unavailable))


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Divide a sequence into sequences of at most `size` items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def _failed_request(failed: dict[str, GravelerError], count: int) -> GravelerError:
    """Return the error of a request for some objects. The error of a single one needs no number."""
    error = next(iter(failed.values()))
    return _failure(error, list(failed), len(failed), count) if count > 1 else error


def _failure(error: GravelerError, addresses: list[str], failed: int, count: int) -> GravelerError:
    """Return an error with the addresses of objects, and the numbers of those that failed and of all."""
    message = f"{failed} of {count} objects could not be deleted: {error.message}"
    return type(error)(message, kind=error.kind, **{**error.details, "failed": addresses})
