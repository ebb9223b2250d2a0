"""Previews of Parquet files that would need much more memory than they have bytes."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from graveler.server.web import table_process
from graveler.server.web.preview import Preview
from graveler.server.web.table_program import MAX_ROW_GROUP_BYTES, ROWS, table_of
from graveler_core.errors import NotFound


def written(**columns: Any) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def preview(**columns: Any) -> Preview:
    return Preview(**table_of(parquet.ParquetFile(io.BytesIO(written(**columns)))))


class Content:
    """Content in memory."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data
        self.read = 0

    def read_range(self, offset: int, length: int) -> bytes:
        self.read += length
        return self._data[offset : offset + length]


def in_process(data: bytes, **limits: Any) -> dict[str, Any]:
    return table_process.table_of(Content(data), **limits)  # type: ignore[arg-type]


def with_small_row_group(data: bytes) -> bytes:
    """Replace the sizes of the row group that the metadata state by 1."""
    left, encoded = parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(0).total_byte_size << 1, b""
    while left:
        encoded += bytes([left & 127 | (128 if left >> 7 else 0)])
        left >>= 7
    assert encoded in data
    return data.replace(encoded, b"\x82" + b"\x80" * (len(encoded) - 2) + b"\0")


def test_lists_are_not_read() -> None:
    """Lists of equal elements are tiny in the file."""
    many = pa.array([[7] * 1_000_000])
    columns = {"id": [1], "many": many, "inside": pa.array([{"a": [1]}]), "flat": pa.array([{"a": 1}])}
    shown = preview(**columns, pairs=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    assert [name for name, _ in shown.schema] == ["id", "many", "inside", "flat", "pairs"]
    assert (shown.columns, shown.rows) == (["id", "flat"], [["1", "{'a': 1}"]])


def test_a_name_that_stands_for_a_list_is_not_read() -> None:
    """The reader takes the name of the flat column for the path of a nested one."""
    shown = preview(**{"id": [1], "s.a": [2], "s": pa.array([{"a": [3]}])})
    assert (shown.columns, shown.rows) == (["id"], [["1"]])


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


def test_a_process_reads_the_table() -> None:
    data = written(id=[1, 2], name=["x", None])
    with parquet.ParquetFile(io.BytesIO(data)) as file:
        expected = Preview(**table_of(file))
    shown = Preview(**in_process(data))
    assert (shown.kind, shown.note) == ("table", "rows: 2, row groups: 1")
    assert (shown.columns, shown.rows) == (expected.columns, expected.rows)
    assert [tuple(each) for each in shown.schema] == expected.schema


@pytest.mark.ci
def test_a_table_that_expands_does_not_exhaust_the_memory() -> None:
    """Its metadata state that it is small."""
    data = written(text=["x" * MAX_ROW_GROUP_BYTES + "y" * MAX_ROW_GROUP_BYTES])
    assert "columns" not in in_process(data)
    forged = with_small_row_group(data)
    assert len(forged) < MAX_ROW_GROUP_BYTES
    assert in_process(forged, memory=450 << 20)["kind"] == "none"


def test_a_process_has_limits_of_time_reads_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    data, too_much = written(id=[1]), {"kind": "none", "note": "the table needs too much memory or time"}
    assert in_process(data, seconds=0.0) == too_much
    monkeypatch.setattr(table_process, "MAX_READ_BYTES", 10)
    assert in_process(data) == too_much
    monkeypatch.undo()
    taken = [table_process._running.acquire(blocking=False) for _ in range(table_process.MAX_PROCESSES)]
    assert all(taken)
    try:
        assert in_process(data)["note"] == "the server makes other previews; load the page again"
    finally:
        table_process._running.release(len(taken))


def test_an_error_of_the_content_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(content: Content, offset: int, length: int) -> bytes:
        raise NotFound("the object does not exist")

    monkeypatch.setattr(Content, "read_range", fail)
    with pytest.raises(NotFound):
        in_process(written(id=[1]))


def test_a_process_inherits_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVELER_SERVER_KEY", "secret")
    started, popen = list[dict[str, str]](), table_process.subprocess.Popen

    def noted(*arguments: Any, env: dict[str, str], **options: Any) -> Any:
        started.append(env)
        return popen(*arguments, env=env, **options)

    monkeypatch.setattr(table_process.subprocess, "Popen", noted)
    assert in_process(written(id=[1]))["kind"] == "table"
    assert "secret" not in started[0].values()
