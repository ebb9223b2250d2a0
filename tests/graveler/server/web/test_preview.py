"""Previews of Parquet files that would need much more memory than they have bytes."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from graveler.server.web.preview import ROWS, Preview, _rows


def preview(**columns: Any) -> Preview:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return _rows(parquet.ParquetFile(file))


def test_lists_are_not_read() -> None:
    """Lists of equal elements are tiny in the file."""
    many = pa.array([[7] * 1_000_000])
    columns = {"id": [1], "many": many, "inside": pa.array([{"a": [1]}]), "flat": pa.array([{"a": 1}])}
    shown = preview(**columns, pairs=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    assert [name for name, _ in shown.schema] == ["id", "many", "inside", "flat", "pairs"]
    assert (shown.columns, shown.rows) == (("id", "flat"), (("1", "{'a': 1}"),))


def test_a_name_that_stands_for_a_list_is_not_read() -> None:
    """The reader takes the name of the flat column for the path of a nested one."""
    shown = preview(**{"id": [1], "s.a": [2], "s": pa.array([{"a": [3]}])})
    assert (shown.columns, shown.rows) == (("id",), (("1",),))


def test_a_table_of_lists_shows_its_schema_only() -> None:
    shown = preview(many=[[1]])
    assert (shown.kind, shown.columns, shown.rows) == ("table", (), ())
    assert [name for name, _ in shown.schema] == ["many"]


def test_rows_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row may have a long value that the file has once, in a dictionary."""
    shown = preview(id=list(range(ROWS + 1)), text=["x" * 100_000] * (ROWS + 1))
    assert [row[0] for row in shown.rows] == [str(number) for number in range(ROWS)]
    read, iterate = list[int](), parquet.ParquetFile.iter_batches

    def noted(file: parquet.ParquetFile, size: int, **more: Any) -> Any:
        read.append(size)
        return iterate(file, size, **more)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    preview(id=[1, 2])
    assert read == [1]
