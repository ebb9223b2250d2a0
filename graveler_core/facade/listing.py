"""The one paging rule: every listing is a lazy iterator, and `.pages(size)` gives pages with tokens to resume from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
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
        if limit is not None and limit < 0:
            raise InvalidInput(f"limit {limit}: must not be negative")
        self._items = items if limit is None else islice(items, limit)
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
        if size < 1:
            raise InvalidInput(f"page size {size}: must be at least 1")
        page = list(islice(self._items, size))
        while True:
            ahead = list(islice(self._items, size)) if len(page) == size else []
            yield Page(page, self._token(page[-1]) if ahead else None)
            if not ahead:
                return
            page = ahead
