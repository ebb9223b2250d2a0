"""Tests of the number of rows in one transaction of a bulk verb and in one statement of a scan: bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graveler_core.kv import bulk
from graveler_core.kv.backends.postgresql.store import PostgreSQLStore, open_postgresql
from graveler_core.kv.backends.sqlite.store import SQLiteStore, open_sqlite
from graveler_core.kv.paging import CHUNK_ROWS, FIRST_PAGE_ROWS, PAGE_BYTES, PAGE_ROWS
from graveler_core.kv.store import Store

ROWS = 2 * PAGE_ROWS + 5


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        opened = open_sqlite(f"sqlite:///{tmp_path}/meta.db?durability=process")
    else:
        opened = open_postgresql(request.getfixturevalue("postgresql_url"))
    bulk.load(opened, b"p", pa.array([b"%05d" % number for number in range(ROWS)]), pa.array([b"v"] * ROWS))
    yield opened
    opened.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each statement that writes."""
    found: list[int] = []
    for kind in (SQLiteStore, PostgreSQLStore):
        write = kind._write

        def counted(self: Any, statement: Any, parameters: Any, write: Any = write) -> int:
            found.append(write(self, statement, parameters))
            return found[-1]

        monkeypatch.setattr(kind, "_write", counted)
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each statement of a scan."""
    found: list[int] = []
    for kind in (SQLiteStore, PostgreSQLStore):
        page_of = kind._page

        def counted(self: Any, partition: Any, keys: Any, rows: Any, page_of: Any = page_of) -> Any:
            page = page_of(self, partition, keys, rows)
            found.append(len(page.keys))
            return page

        monkeypatch.setattr(kind, "_page", counted)
    return found


def test_a_partition_goes_chunk_by_chunk(store: Store, written: list[int]) -> None:
    assert bulk.drop_partition(store, b"p") == ROWS
    assert written == [CHUNK_ROWS] * 4 + [5]


def test_a_scan_begins_with_a_small_page(store: Store, read: list[int]) -> None:
    assert len(list(store.scan(b"p"))) == ROWS
    assert read == [FIRST_PAGE_ROWS, PAGE_ROWS, ROWS - FIRST_PAGE_ROWS - PAGE_ROWS]


def test_a_scan_of_a_few_rows_reads_no_more(store: Store, read: list[int]) -> None:
    assert len(list(store.scan(b"p", limit=7))) == 7
    assert next(iter(store.scan(b"p"))).key == b"00000"
    assert read == [7, FIRST_PAGE_ROWS]


def test_columns_come_in_large_pages(store: Store) -> None:
    assert [batch.num_rows for batch in bulk.scan_arrow(store, b"p")] == [PAGE_ROWS, PAGE_ROWS, 5]


def test_a_page_ends_where_it_is_large(store: Store, read: list[int]) -> None:
    values = pa.array([bytes(90 * 1024)] * 100)
    bulk.load(store, b"large", pa.array([b"%03d" % number for number in range(100)]), values)
    assert len(list(store.scan(b"large"))) == 100
    assert len(read) > 1
    assert max(read) * 90 * 1024 <= PAGE_BYTES + 40 * 90 * 1024
    batches = [batch.num_rows for batch in bulk.scan_arrow(store, b"large")]
    assert sum(batches) == 100
    assert max(batches) * 90 * 1024 <= PAGE_BYTES + 50 * 90 * 1024
