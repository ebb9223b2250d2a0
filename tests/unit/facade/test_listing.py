"""The one paging rule."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput, Unavailable
from graveler_core.facade.listing import Listing


def listing(size: int, limit: int | None = None, after: str = "") -> Listing[int]:
    start = int(after) + 1 if after else 0
    return Listing(iter(range(start, size)), str, limit)


@given(st.integers(0, 12), st.integers(1, 5))
def test_pages_are_the_listing(size: int, page: int) -> None:
    pages = list(listing(size).pages(page))
    assert [item for p in pages for item in p.items] == list(range(size))
    assert all(len(p.items) == page for p in pages[:-1])
    assert [p.next is None for p in pages] == [False] * (len(pages) - 1) + [True]


@given(st.integers(0, 12), st.integers(1, 5))
def test_every_token_resumes_behind_its_page(size: int, page: int) -> None:
    seen = 0
    for p in listing(size).pages(page):
        seen += len(p.items)
        if p.next is not None:
            assert list(listing(size, after=p.next)) == list(range(seen, size))


def test_limits() -> None:
    assert list(listing(9, limit=3)) == [0, 1, 2]
    assert list(listing(2, limit=3)) == [0, 1]
    assert list(listing(9, limit=0)) == []
    assert [p.items for p in listing(9, limit=3).pages(2)] == [[0, 1], [2]]


def test_loops_and_pages_go_on_where_another_ended() -> None:
    found = listing(9)
    assert next(found) == 0
    for item in found:
        if item == 2:
            break
    assert next(found.pages(2)).items == [3, 4]
    assert list(found) == [7, 8]


def test_an_empty_listing_has_one_empty_page() -> None:
    (page,) = listing(0).pages(5)
    assert (page.items, page.next) == ([], None)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    pages = Listing(items(), str).pages(10)
    assert not read
    assert next(pages).items == list(range(10))
    assert len(read) == 20


@pytest.mark.parametrize("limit", [-1, -100])
def test_negative_limits(limit: int) -> None:
    with pytest.raises(InvalidInput, match=str(limit)):
        listing(3, limit)


@pytest.mark.parametrize("size", [0, -1])
def test_empty_pages(size: int) -> None:
    with pytest.raises(InvalidInput, match=str(size)):
        next(listing(3).pages(size))


def test_its_text_reads_nothing() -> None:
    def failing() -> Iterator[str]:
        raise AssertionError("read")
        yield ""

    assert ".pages(size)" in repr(Listing(failing(), str))


def test_a_notebook_shows_the_next_items_and_takes_none() -> None:
    found = listing(25)
    begun = iter(found)
    assert next(begun) == 0
    for _ in range(2):
        shown = fromstring(found._repr_html_())
        assert shown.findtext("caption") == "Listing, the first 20"
        assert [row.text for row in shown.iter("td")] == [str(item) for item in range(1, 21)]
    assert list(begun) == list(range(1, 25))
    assert fromstring(found._repr_html_()).findtext("caption") == "Listing"


def test_an_error_is_shown_and_raised_where_it_was() -> None:
    def items() -> Iterator[int]:
        yield from range(2)
        raise Unavailable("the store is <gone>")

    found = Listing(items(), str)
    for _ in range(2):
        shown = fromstring(found._repr_html_())
        assert shown.findtext("caption") == "Listing: the store is <gone>"
        assert [row.text for row in shown.iter("td")] == ["0", "1"]
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(Unavailable):
        next(found)
