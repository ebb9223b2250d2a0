"""Listings of branches that skip damaged records, so that one of them does not end each tick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from logging import Logger
from typing import TypeVar

T = TypeVar("T")


def readable(listing: Callable[..., Iterable[T]], log: Logger, after: str = "") -> Iterator[T]:
    """Yield the items of a listing, without those whose records are damaged.

    A damaged record ends a listing. It is logged, and the listing begins again after it.

    Args:
        listing: Method that lists branches by name, with the parameter `after`.
        log: Log of the tick.
        after: Only items with greater names are listed.

    Raises:
        CorruptData: Another record is damaged, such as that of the repository whose branches are listed.
    """
    from graveler_core.errors import CorruptData

    while True:
        try:
            yield from listing(after=after)
            return
        except CorruptData as damage:
            name = str(damage.details.get("name", "")).rpartition("/")[2]
            if name <= after:
                raise
            log.warning(f"skipped: {damage}")
            after = name
