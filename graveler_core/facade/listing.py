"""Listings: every listing is a lazy iterator, and `.pages(size)` returns pages with tokens to resume from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from operator import index
from typing import Any, Final, Generic, NoReturn, Self, TypeVar

from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.model.html import html_list
from graveler_core.model.names import prefix_key

SHOWN: Final = 20
"""Number of items that a notebook shows of a listing."""
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Consecutive items of a listing. `next` is the token that resumes the listing after them with `after=`, or `None`
    at the end. Only the last page may be empty.
    """

    items: list[T]
    next: str | None


class Listing(Iterator[T_co]):
    """Lazy iterator over sorted items. Nothing is read before the first item is requested, or shown in a notebook."""

    def __init__(
        self,
        items: Iterator[T_co],
        token: Callable[[T_co], str],
        limit: int | None = None,
        version: Callable[[], str | None] = lambda: None,
        rest: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._items = items if limit is None else islice(items, number("limit", limit, 0))
        self._token = token
        self._version = version
        self._rest = rest

    def __repr__(self) -> str:
        return "<Listing: read when it is iterated over, as in list(…), or in pages, with .pages(size)>"

    def _repr_html_(self) -> str:
        """Return a table of the next items. They are read, and stay in the listing."""
        ahead, failure = list[T_co](), None
        try:
            ahead.extend(islice(self._items, SHOWN + 1))
        except GravelerError as e:
            failure = e
        self._items = chain(ahead, self._items if failure is None else _raising(failure))
        if failure is not None:
            return html_list(f"Listing: {failure.message}", ahead)
        more = f", the first {SHOWN}" if len(ahead) > SHOWN else ""
        return html_list(f"Listing{more}", ahead[:SHOWN])

    def __next__(self) -> T_co:
        return next(self._items)

    def version(self) -> str | None:
        """Return the name of the commit whose entries are listed. Two listings of entries with the same version and the
        same bounds, delimiter and limit have the same items.

        If it returns a name, the listing shows this commit, even if the branch changes while it is read.

        Returns:
            The name. `None` for a listing of something other than entries; if an item was read before the first call;
            or if the branch has uncommitted changes at the listed paths, or a compacted tree.

        Raises:
            GravelerError: as the first item raises it.
        """
        return self._version()

    def rest(self) -> str | None:
        """Return the token that resumes a listing whose items ended at a limit on the work, such as `max_commits` of a
        log.

        Returns:
            The token. `None` if items are left, if there is no such limit, or if everything was listed.
        """
        return self._rest()

    def through(self, guard: Callable[[Iterator[Any]], Iterator[Any]]) -> Self:
        """Return the same listing, with its items wrapped by `guard`.

        Args:
            guard: Function that wraps an iterator over the items, such as a check of permissions.

        Returns:
            The new listing. Do not use the old one afterwards.
        """

        def version() -> str | None:
            next(guard(iter((None,))))
            return self._version()

        return type(self)(guard(self._items), self._token, version=version, rest=self._rest)

    def pages(self, size: int) -> Iterator[Page[T_co]]:
        """Yield the remaining items in pages. An empty listing has one empty page.

        Args:
            size: Number of items in a page; the last page may be shorter.

        Yields:
            Pages, in order.

        Raises:
            InvalidInput: the size is not a positive integer.
        """
        size = number("page size", size, 1)
        page = list(islice(self._items, size))
        while True:
            ahead = list(islice(self._items, size)) if len(page) == size else []
            yield Page(page, self._token(page[-1]) if ahead else self._rest())
            if not ahead:
                return
            page = ahead


def _raising(error: GravelerError) -> Iterator[NoReturn]:
    """Raise an error when the first item is requested."""
    raise error
    yield


def number(what: str, given: int, least: int) -> int:
    """Return a given value as a number of items.

    Args:
        what: Name of the value, for messages.
        given: The value.
        least: Minimum of the value.

    Returns:
        The number, at most `sys.maxsize`.

    Raises:
        InvalidInput: the value is not an integer, or less than `least`.
    """
    try:
        counted = index(given)
    except TypeError as e:
        raise InvalidInput(f"{what} {given!r}: must be a whole number") from e
    if counted < least:
        raise InvalidInput(f"{what} {given}: must be at least {least}")
    return min(counted, sys.maxsize)


def between(prefix: str, after: str) -> dict[str, str]:
    """Return the bounds of a listing as keyword arguments. Raises `InvalidInput` if one is not a valid prefix."""
    prefix_key(prefix)
    prefix_key(after)
    return {"prefix": prefix, "after": after}
