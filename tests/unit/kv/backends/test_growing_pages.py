"""Requests of a page, which grow with small rows."""

from __future__ import annotations

from graveler_core.kv.backends.growing_pages import MOST_ROWS, growing_page
from graveler_core.kv.paging import KeyBounds, RowPage

SIZES = [200] * 3_400 + [72 << 10] * 20_000


def test_large_rows_that_follow_many_small_ones_do_not_come_all_at_once() -> None:
    asked = list[int]()

    def read(keys: KeyBounds, rows: int) -> RowPage:
        start = sum(asked)
        asked.append(rows)
        numbers = range(start, start + rows)
        return RowPage(
            [b"%06d" % number for number in numbers], [bytes(SIZES[number]) for number in numbers], last=False
        )

    page = growing_page(read, KeyBounds(b"", None), 10_000)
    assert len(page.keys) == sum(asked)
    assert max(asked) == MOST_ROWS
