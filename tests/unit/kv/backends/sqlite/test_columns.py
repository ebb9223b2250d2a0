"""Rows joined inside SQLite come apart as they were, whatever their bytes and lengths."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.errors import CorruptData
from graveler_core.kv.backends.sqlite import columns as sqlite_columns
from graveler_core.kv.backends.sqlite.columns import read_columns
from graveler_core.kv.paging import KeyBounds
from tests.examples import examples

ANY_BYTES = st.binary(max_size=40) | st.lists(st.sampled_from([b"\0", b",", b"\xff", b"\xc3", b"'", b"1"])).map(
    b"".join
)
ROWS = st.dictionaries(ANY_BYTES.filter(len), ANY_BYTES, max_size=60)


def file(rows: dict[bytes, bytes], encoding: str = "UTF-8") -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"PRAGMA encoding='{encoding}'")
    connection.execute(
        "CREATE TABLE kv (partition BLOB, key BLOB, value BLOB, PRIMARY KEY (partition, key)) WITHOUT ROWID"
    )
    connection.executemany("INSERT INTO kv VALUES(?, ?, ?)", [(b"p", *row) for row in rows.items()])
    connection.execute("INSERT INTO kv VALUES(?, ?, ?)", (b"q", b"1", b"another partition"))
    return connection


@given(rows=ROWS, lower=ANY_BYTES, upper=st.none() | ANY_BYTES, first=st.integers(1, 8), wanted=st.integers(1, 70))
@settings(max_examples=examples(60), deadline=None)
def test_any_bytes(rows: dict[bytes, bytes], lower: bytes, upper: bytes | None, first: int, wanted: int) -> None:
    with pytest.MonkeyPatch.context() as patch, closing(file(rows)) as connection:
        patch.setattr(sqlite_columns, "_FIRST_ROWS", first)
        patch.setattr(sqlite_columns, "_JOINED_ROWS", 2 * first)
        page = read_columns(connection, b"p", KeyBounds(lower, upper), wanted)
    inside = [row for row in sorted(rows.items()) if lower <= row[0] and (upper is None or row[0] < upper)]
    assert list(zip(*(column.to_pylist() for column in page.batch.columns), strict=True)) == inside[:wanted]
    assert page.last_key == (inside[:wanted][-1][0] if inside else b"")
    assert page.last or len(inside) >= wanted
    assert not page.last or len(inside) <= wanted


def test_bytes_that_are_joined_otherwise_are_refused() -> None:
    rows = {b"one": b"odd", b"two": b"\xd8\x00\xd8"}
    with closing(file(rows, encoding="UTF-16")) as connection, pytest.raises(CorruptData, match="joined"):
        read_columns(connection, b"p", KeyBounds(b"", None), 10)
