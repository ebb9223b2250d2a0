"""Merging sorted streams page by page: the newest record of a key, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.segments.sorted_keys import KEY
from graveler_core.segments.streams import merge
from tests.unit.segments.samples import CHANGES, Changes, records

STREAMS = st.lists(st.tuples(CHANGES, st.integers(1, 7)), min_size=1, max_size=5)


def pages(changes: Changes, rows: int) -> Iterator[pa.Table]:
    table = records(changes)
    return (table.slice(row, rows) for row in range(0, table.num_rows, rows))


@given(STREAMS)
def test_newest_wins(streams: list[tuple[Changes, int]]) -> None:
    found: dict[bytes, int | None] = {}
    for page in merge([pages(*stream) for stream in streams]):
        for row in page.select([KEY, "size"]).to_pylist():
            assert row[KEY] not in found
            found[row[KEY]] = row["size"]
    wanted: dict[bytes, int | None] = {}
    for changes, _ in streams:
        wanted = {**changes, **wanted}
    assert found == wanted
    assert list(found) == sorted(found)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    read: list[tuple[str, int]] = []

    def stream(name: str, numbers: range) -> Iterator[pa.Table]:
        for number in numbers:
            read.append((name, number))
            yield records({b"%04d" % number: 1})

    merged = merge([stream("even", range(0, 1000, 2)), stream("odd", range(1, 1000, 2))])
    assert not read
    for number in range(10):
        next(merged)
        assert len(read) == number + 2


def test_empty_pages_end_nothing() -> None:
    empty = records({})
    left = iter([empty, records({b"a": 1}), empty, records({b"c": 1})])
    right = iter([empty, empty, records({b"b": 1})])
    assert [key for page in merge([left, right]) for key in page.column(KEY).to_pylist()] == [b"a", b"b", b"c"]
