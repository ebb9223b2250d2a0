"""Local Parquet files of a write with many partitions: memory and open files are limited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_graveler.io_managers import parquet_files
from dagster_graveler.io_managers.table_path import Dimension, TablePath

KEYS = tuple(f"{number:03}" for number in range(200))
TABLE = TablePath("a", "a", (Dimension(dg.StaticPartitionsDefinition(KEYS), "key", "key"),), KEYS)
ROUNDS = 20
GROUP, HELD, OPEN = 500, 4_000, 8


def rows() -> pa.RecordBatchReader:
    """Each batch has one row of each partition."""
    schema = pa.schema({"key": pa.string(), "n": pa.int64()})

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(ROUNDS):
            yield pa.record_batch([pa.array(KEYS), pa.array([number] * len(KEYS))], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The bytes in memory and the open files after each write."""
    found: list[tuple[int, int]] = []
    write = parquet_files._Writers.write

    def noted(self: parquet_files._Writers, partition: int, batch: pa.RecordBatch) -> None:
        write(self, partition, batch)
        writers = self._writers
        assert self.held_bytes == sum(each.held_bytes for each in writers)
        found.append((self.held_bytes, sum(each.is_open for each in writers)))

    monkeypatch.setattr(parquet_files._Writers, "write", noted)
    return found


def numbers(files: list[parquet_files.ParquetFile]) -> list[list[int]]:
    """The numbers of each partition, in the order of the files."""
    found: list[list[int]] = [[] for _ in KEYS]
    for file in files:
        table = pq.read_table(file.local)
        assert table.num_rows == file.rows
        assert set(table["key"].to_pylist()) == {KEYS[file.partition]}
        found[file.partition] += table["n"].to_pylist()
    return found


def test_memory_and_open_files_are_limited_for_all_partitions_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: list[tuple[int, int]]
) -> None:
    for name, value in {"_GROUP_BYTES": GROUP, "_HELD_BYTES": HELD, "_OPEN_FILES": OPEN}.items():
        monkeypatch.setattr(parquet_files, name, value)
    files = parquet_files.write_files(TABLE, rows(), tmp_path)
    assert max(held for held, _ in seen) <= HELD
    assert max(opened for _, opened in seen) == OPEN
    assert numbers(files) == [list(range(ROUNDS))] * len(KEYS)
    assert len(files) > len(KEYS)
    assert sorted(file.local for file in files) == sorted(tmp_path.iterdir())


def test_within_the_limits_each_partition_is_one_file(tmp_path: Path, seen: list[tuple[int, int]]) -> None:
    files = parquet_files.write_files(TABLE, rows(), tmp_path)
    assert seen[-1][1] == 0
    assert numbers(files) == [list(range(ROUNDS))] * len(KEYS)
    assert len(files) == len(KEYS)


def test_a_table_of_one_batch_becomes_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_GROUP_BYTES": 800, "FILE_BYTES": 1}.items():
        monkeypatch.setattr(parquet_files, name, value)
    table = pa.table({"n": pa.array(range(1_000))})
    files = parquet_files.write_files(TablePath("a", "a"), table.to_reader(), tmp_path)
    assert [file.rows for file in files] == [100] * 10
    assert [n for file in files for n in pq.read_table(file.local)["n"].to_pylist()] == list(range(1_000))
