"""Intervals of keys, and how they are read in pages."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.kv.paging import PAGE_ROWS, KeyBounds, RowPage, interval, pages, successor

KEYS = st.lists(st.sampled_from((0x00, 0x61, 0xFE, 0xFF)), max_size=3).map(bytes)


@given(KEYS, KEYS, st.none() | KEYS, KEYS)
def test_an_interval_holds_exactly_its_keys(prefix: bytes, start: bytes, end: bytes | None, key: bytes) -> None:
    found = interval(prefix, start, end)
    inside = found.lower <= key and (found.upper is None or key < found.upper)
    assert inside == (key.startswith(prefix) and key >= start and (end is None or key < end))
    assert not (inside and found.is_empty())


@given(KEYS, KEYS)
def test_nothing_lies_between_a_key_and_what_is_after_it(key: bytes, other: bytes) -> None:
    assert (other > key) == (other >= KeyBounds(b"", None).after(key).lower)


def test_successor() -> None:
    assert [successor(prefix) for prefix in (b"", b"a", b"a\xff", b"\xff\xff", b"a\xfe")] == [
        None,
        b"b",
        b"b",
        None,
        b"a\xff",
    ]


@given(st.integers(0, 60), st.none() | st.integers(0, 70), st.integers(1, 9), st.integers(1, 20))
def test_pages_yield_each_row_once(rows: int, limit: int | None, cut: int, first: int) -> None:
    """Also when pages end early, and whether or not the last one knows that it is the last."""
    keys = [b"%02d" % number for number in range(rows)]
    asked = []

    def read(wanted: KeyBounds, size: int) -> RowPage:
        asked.append(size)
        start = bisect_left(keys, wanted.lower)
        found = keys[start : start + min(size, cut)]
        return RowPage(found, [b""] * len(found), last=len(found) < min(size, cut))

    found = [key for page in pages(read, KeyBounds(b"", None), limit, first) for key in page.keys]
    assert found == keys[:limit]
    assert asked[:1] == ([] if limit == 0 else [first if limit is None else min(first, limit)])
    assert max(asked[1:], default=0) <= PAGE_ROWS


def test_an_empty_interval_is_not_read() -> None:
    def read(wanted: KeyBounds, size: int) -> RowPage:
        raise AssertionError((wanted, size))

    assert list(pages(read, KeyBounds(b"b", b"a"), None, 10)) == []
