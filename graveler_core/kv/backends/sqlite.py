"""The embedded store: one SQLite file, shared by the threads and processes of one host.

Uses the standard library's `sqlite3` alone, as one copy of SQLite in the process must own the file: a second one (that
of another driver) would silently drop the locks of the first, and acknowledged commits with them. Readers never wait
(WAL mode); writers queue, first in this process at a lock, then between processes at SQLite's own. Every statement is
complete before its connection goes back to the pool, so no snapshot outlives a call and `get` sees every acknowledged
write.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import pyarrow as pa

from graveler_core.kv.abilities import Description, Expected, Item
from graveler_core.kv.backends.sqlite_columns import read_columns
from graveler_core.kv.backends.sqlite_connections import Connections
from graveler_core.kv.backends.sqlite_description import describe
from graveler_core.kv.backends.sqlite_errors import mapped
from graveler_core.kv.backends.sqlite_file import SQLiteFile, parse_url
from graveler_core.kv.backends.sqlite_turns import TurnFile
from graveler_core.kv.limits import check_key, check_partition, check_value
from graveler_core.kv.paging import (
    CHUNK_ROWS,
    FIRST_PAGE_ROWS,
    PAGE_BYTES,
    PAGE_ROWS,
    Interval,
    Page,
    check_limit,
    interval,
    pages,
    split_rows,
)
from graveler_core.kv.store import EXISTS, KeyValue, Predicate, Store, Stored, predicate_failed

_T = TypeVar("_T")

_GET: Final = "SELECT value FROM kv WHERE partition=? AND key=?"
_SET: Final = (
    "INSERT INTO kv(partition, key, value) VALUES(?,?,?) ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
_CREATE: Final = "INSERT INTO kv(partition, key, value) VALUES(?,?,?) ON CONFLICT(partition, key) DO NOTHING"
_REPLACE: Final = "UPDATE kv SET value=? WHERE partition=? AND key=?"
_SWAP: Final = "UPDATE kv SET value=? WHERE partition=? AND key=? AND value=?"
_DELETE: Final = "DELETE FROM kv WHERE partition=? AND key=?"
_DELETE_IF: Final = "DELETE FROM kv WHERE partition=? AND key=? AND value=?"
_SCAN_FROM: Final = "SELECT key, value FROM kv WHERE partition=? AND key>=? ORDER BY key LIMIT ?"
_SCAN: Final = "SELECT key, value FROM kv WHERE partition=? AND key>=? AND key<? ORDER BY key LIMIT ?"
_DROP: Final = (
    "DELETE FROM kv WHERE partition=?1"
    " AND key<=(SELECT max(key) FROM (SELECT key FROM kv WHERE partition=?1 ORDER BY key LIMIT ?2))"
)
_COUNT: Final = "SELECT count(*) FROM kv WHERE partition=?"
_STEP: Final = "SELECT key FROM kv WHERE partition=? AND key>=? ORDER BY key LIMIT 1 OFFSET ?"
_FETCH_ROWS: Final = 40
"""Rows fetched between two looks at the size of a page: at most 40 values of 96 KiB beyond it."""


_LONGEST_PAUSE: Final = 0.1
"""Seconds between two transactions that drop a partition."""


def open_sqlite(url: str) -> Store:
    """Opens, and makes if absent, the file of `sqlite:///relative.db` or `sqlite:////absolute.db?durability=process`.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: Kind NotAGravelerStore; or the file cannot be made or read.
    """
    file = parse_url(url)
    file.prepare()
    return SQLiteStore(file)


class SQLiteStore:
    """A store in a SQLite file; see `Store` for what its methods promise. Has every ability; `set_many` is atomic."""

    def __init__(self, file: SQLiteFile) -> None:
        self._path = file.path
        self._connections = Connections(file.connect, file.path)
        self._writer = Lock()
        self._turns = TurnFile(Path(f"{file.path}-turns"))

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        rows = self._read(_GET, (partition, key))
        return _stored(rows)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._write(_SET, (partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if predicate is None:
            written = self._write(_CREATE, (partition, key, value))
        elif predicate == EXISTS:
            written = self._write(_REPLACE, (value, partition, key))
        else:
            written = self._write(_SWAP, (value, partition, key, predicate.token))
        if not written:
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._write(_DELETE, (partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        if predicate == EXISTS:
            removed = self._write(_DELETE, (partition, key))
        else:
            removed = self._write(_DELETE_IF, (partition, key, predicate.token))
        if not removed:
            raise predicate_failed(partition, key, predicate)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        check_partition(partition)
        check_limit(limit)
        found = pages(partial(self._page, partition), interval(prefix, start, end), limit, FIRST_PAGE_ROWS)
        return (
            KeyValue(key, value, Predicate(value))
            for page in found
            for key, value in zip(page.keys, page.values, strict=True)
        )

    def close(self) -> None:
        self._turns.close()
        self._connections.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        return self._run(lambda connection: [_stored(connection.execute(_GET, key).fetchall()) for key in keys])

    def set_many(self, items: Sequence[Item]) -> None:
        self._transact(_SET, items)

    def sets_atomically(self) -> bool:
        return True

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            with self._writer:
                connection.execute("BEGIN IMMEDIATE")
                for partition, key, predicate in (*rows, *unchanged):
                    found = _stored(connection.execute(_GET, (partition, key)).fetchall())
                    if found is None or predicate not in (EXISTS, found.predicate):
                        connection.rollback()
                        raise predicate_failed(partition, key, predicate)
                connection.executemany(_DELETE, [(partition, key) for partition, key, _ in rows])
                connection.execute("COMMIT")

        self._run(work, writing=True)

    def deletes_together(self) -> bool:
        return True

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), CHUNK_ROWS):
            piece = slice(offset, offset + CHUNK_ROWS)
            partitions = [partition] * len(keys[piece])
            self._transact(_SET, zip(partitions, keys[piece].to_pylist(), values[piece].to_pylist(), strict=True))

    def scan_arrow(self, partition: bytes, keys: Interval) -> Iterator[pa.RecordBatch]:
        while not keys.is_empty():
            page = self._run(partial(read_columns, partition=partition, keys=keys, rows=PAGE_ROWS))
            if page.batch.num_rows:
                yield page.batch
            if page.last:
                return
            keys = keys.after(page.last_key)

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while True:
            begun = time.monotonic()
            chunk = self._write(_DROP, (partition, CHUNK_ROWS))
            dropped += chunk
            if chunk < CHUNK_ROWS:
                return dropped
            # Others wait for the file too, and no lock here is fair: who comes again at once gets it again.
            time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return self._run(lambda connection: _split(connection, partition, pieces))

    def about_rows(self, partition: bytes) -> int:
        [[rows]] = self._read(_COUNT, (partition,))
        return int(rows)

    def describe(self) -> Description:
        return self._run(partial(describe, path=self._path))

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        return self._turns.turn(name, patience)

    def _page(self, partition: bytes, keys: Interval, rows: int) -> Page:
        return self._run(lambda connection: _read_page(connection, partition, keys, rows))

    def _read(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        return self._run(lambda connection: connection.execute(statement, parameters).fetchall())

    def _write(self, statement: str, parameters: Sequence[Any]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            with self._writer:
                return connection.execute(statement, parameters).rowcount

        return self._run(work, writing=True)

    def _transact(self, statement: str, rows: Any) -> None:
        def work(connection: sqlite3.Connection) -> None:
            with self._writer:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(statement, rows)
                connection.execute("COMMIT")

        self._run(work, writing=True)

    def _run(self, work: Callable[[sqlite3.Connection], _T], *, writing: bool = False) -> _T:
        """Runs complete statements on a connection of its own; on an error nothing stays open and nothing half-done."""
        try:
            connection = self._connections.take()
            try:
                return work(connection)
            finally:
                self._connections.give(connection)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise mapped(error, self._path, writing=writing) from error


def _stored(rows: list[tuple[bytes]]) -> Stored | None:
    return Stored(rows[0][0], Predicate(rows[0][0])) if rows else None


def _split(connection: sqlite3.Connection, partition: bytes, pieces: int) -> list[bytes]:
    """Steps from point to point over the index, which is faster than to number the rows by a window function."""
    [[rows]] = connection.execute(_COUNT, (partition,)).fetchall()
    points: list[bytes] = []
    before = 0
    for row in split_rows(rows, pieces):
        found = connection.execute(_STEP, (partition, points[-1] if points else b"", row - before)).fetchall()
        points += [key for [key] in found]
        before = row
    return points


def _read_page(connection: sqlite3.Connection, partition: bytes, keys: Interval, rows: int) -> Page:
    if keys.upper is None:
        cursor = connection.execute(_SCAN_FROM, (partition, keys.lower, rows))
    else:
        cursor = connection.execute(_SCAN, (partition, keys.lower, keys.upper, rows))
    found: list[bytes] = []
    values: list[bytes] = []
    size = 0
    try:
        # Few rows at a time also keep the tuples out of the garbage collector, which would double the cost of a scan.
        while chunk := cursor.fetchmany(_FETCH_ROWS):
            found += map(itemgetter(0), chunk)
            part = list(map(itemgetter(1), chunk))
            values += part
            size += sum(map(len, part))
            if size >= PAGE_BYTES:
                return Page(found, values, last=False)
    finally:
        cursor.close()
    return Page(found, values, last=len(found) < rows)
