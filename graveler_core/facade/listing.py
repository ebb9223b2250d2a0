"""The one paging rule: every listing is a lazy iterator, and `.pages(size)` gives pages with tokens to resume from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import index
from typing import Generic, Self, TypeVar

from graveler_core.errors import InvalidInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items in a row. `next` is the token for `after=` that resumes behind them; None where the listing ends."""

    items: list[T]
    next: str | None


class Listing(Iterator[T]):
    """A lazy iterator over items in order. Nothing is read before the first item is asked for."""

    def __init__(self, items: Iterator[T], token: Callable[[T], str], limit: int | None = None) -> None:
        self._items = items if limit is None else islice(items, number("limit", limit, 0))
        self._token = token

    def __iter__(self) -> Iterator[T]:
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def through(self, guard: Callable[[Iterator[T]], Iterator[T]]) -> Self:
        """The same, its items taken through a guard."""
        return type(self)(guard(self._items), self._token)

    def pages(self, size: int) -> Iterator[Page[T]]:
        """What is left, in pages of `size` items; the last may be shorter. An empty listing has one empty page."""
        size = number("page size", size, 1)
        page = list(islice(self._items, size))
        while True:
            ahead = list(islice(self._items, size)) if len(page) == size else []
            yield Page(page, self._token(page[-1]) if ahead else None)
            if not ahead:
                return
            page = ahead


def number(what: str, given: int, least: int) -> int:
    """A whole number as it counts items: more than there can be is all of them. `InvalidInput` for any other value."""
    try:
        counted = index(given)
    except TypeError as e:
        raise InvalidInput(f"{what} {given!r}: must be a whole number") from e
    if counted < least:
        raise InvalidInput(f"{what} {given}: must be at least {least}")
    return min(counted, sys.maxsize)
