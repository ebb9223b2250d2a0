"""Answers of Bigtable: cells in several chunks, rows in several answers, and chunks that are taken back."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.bigtable_v2 import types

from graveler_core.errors import SlowDown
from graveler_core.kv.backends.bigtable.rows import HASH, VALUE, cells_set, rows_of, value_is, value_set


def chunk(row: bytes = b"", column: bytes | None = None, value: bytes = b"", **fields: Any) -> Any:
    named = {} if column is None else {"qualifier": column, "family_name": "g"}
    return types.ReadRowsResponse.CellChunk(row_key=row, value=value, **named, **fields)


def answers(*chunks: list[Any]) -> list[Any]:
    return [types.ReadRowsResponse(chunks=each) for each in chunks]


def found(*chunks: list[Any]) -> list[tuple[bytes, dict[bytes, bytes]]]:
    return [(name, dict(cells)) for name, cells in rows_of(answers(*chunks), "bigtable://p/i/t")]


def test_rows_in_one_and_several_answers() -> None:
    first = [chunk(b"a", b"h", b"1"), chunk(column=b"v", value=b"2", commit_row=True)]
    second = [chunk(b"b", b"v", b"3", commit_row=True)]
    expected = [(b"a", {b"h": b"1", b"v": b"2"}), (b"b", {b"v": b"3"})]
    assert found([*first, *second]) == found(first, second) == found(first[:1], [*first[1:], *second]) == expected
    assert found() == found([]) == []


def test_a_cell_in_several_chunks() -> None:
    parts = [chunk(b"a", b"v", b"12", value_size=5), chunk(value=b"34", value_size=5), chunk(value=b"5")]
    end = chunk(column=b"w", value=b"", commit_row=True)
    assert found(parts, [end]) == [(b"a", {b"v": b"12345", b"w": b""})]


def test_the_newest_version_is_the_first() -> None:
    assert found([chunk(b"a", b"v", b"new"), chunk(value=b"old", commit_row=True)]) == [(b"a", {b"v": b"new"})]


def test_chunks_that_are_taken_back() -> None:
    taken = [chunk(b"a", b"v", b"1"), chunk(value=b"half", value_size=9), chunk(reset_row=True)]
    again = [chunk(b"a", b"v", b"2", commit_row=True)]
    assert found([*taken, *again]) == [(b"a", {b"v": b"2"})]
    assert found(taken) == []


@pytest.mark.parametrize("last", [chunk(b"a", b"v", b"1"), chunk(b"a", b"v", b"1", value_size=2)])
def test_a_stream_that_ends_within_a_row(last: Any) -> None:
    with pytest.raises(SlowDown, match="within a row"):
        found([last])


def test_a_write_replaces_value_and_hash() -> None:
    """Both have one timestamp, and no other column is left."""
    cells = {each.set_cell.column_qualifier: each.set_cell for each in value_set(b"x" * 90_000)}
    assert cells.keys() == {VALUE, HASH}
    assert {cell.timestamp_micros for cell in cells.values()} == {0}
    (condition,) = [each for each in value_is(b"x" * 90_000).chain.filters if each.HasField("value_range_filter")]
    exact = condition.value_range_filter
    assert exact.start_value_closed == exact.end_value_closed == cells[HASH].value
    assert value_is(b"x" * 90_000).ByteSize() < 200
    assert [each.set_cell.family_name for each in cells_set({VALUE: b""})] == ["g"]
