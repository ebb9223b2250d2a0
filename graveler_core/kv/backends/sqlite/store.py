"""Store in a SQLite file, for the threads and processes of one host.

The store uses only `sqlite3` of the standard library, because a process must access a file through a single copy of
SQLite. A second copy, for example in another driver, would drop the file locks of the first one, and acknowledged
commits could be lost. Readers do not wait (WAL mode). Writers of one process wait for a lock in memory, and then for
SQLite's file lock. Every statement ends before its connection returns to the pool, so no snapshot stays open after a
call, and `get` returns every acknowledged write. A file that is moved, deleted or replaced while it is open accepts no
more writes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import pyarrow as pa

from graveler_core.kv.backends.sql import RowStatements, SqlStore, split_points_by_steps, stored, swap_statement
from graveler_core.kv.backends.sqlite.columns import read_columns
from graveler_core.kv.backends.sqlite.connections import Connections
from graveler_core.kv.backends.sqlite.description import describe
from graveler_core.kv.backends.sqlite.errors import mapped, moved
from graveler_core.kv.backends.sqlite.file import SQLiteFile, parse_url
from graveler_core.kv.backends.sqlite.turns import TurnFile
from graveler_core.kv.paging import (
    CHUNK_ROWS,
    PAGE_BYTES,
    PAGE_ROWS,
    KeyBounds,
    RowPage,
)
from graveler_core.kv.store import (
    EXISTS,
    Description,
    Expected,
    Item,
    Predicate,
    Store,
    Stored,
    predicate_failed,
)

_T = TypeVar("_T")

_ROWS: Final = RowStatements(
    get="SELECT value FROM kv WHERE partition=? AND key=?",
    set="INSERT INTO kv(partition, key, value) VALUES(?,?,?)"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value",
    create="INSERT INTO kv(partition, key, value) VALUES(?,?,?) ON CONFLICT(partition, key) DO NOTHING",
    replace="UPDATE kv SET value=? WHERE partition=? AND key=?",
    swap="UPDATE kv SET value=? WHERE partition=? AND key=? AND value=?",
    delete="DELETE FROM kv WHERE partition=? AND key=?",
    delete_if="DELETE FROM kv WHERE partition=? AND key=? AND value=?",
    count="SELECT count(*) FROM kv WHERE partition=?",
)
_SCAN_FROM: Final = "SELECT key, value FROM kv WHERE partition=? AND key>=? ORDER BY key LIMIT ?"
_SCAN: Final = "SELECT key, value FROM kv WHERE partition=? AND key>=? AND key<? ORDER BY key LIMIT ?"
_DROP: Final = (
    "DELETE FROM kv WHERE partition=?1"
    " AND key<=(SELECT max(key) FROM (SELECT key FROM kv WHERE partition=?1 ORDER BY key LIMIT ?2))"
)
_STEP: Final = "SELECT key FROM kv WHERE partition=? AND key>=? ORDER BY key LIMIT 1 OFFSET ?"
_FETCH_ROWS: Final = 40
"""Number of rows between two checks of the page size. A page can exceed its size by at most 40 values of 96 KiB."""
_LONGEST_PAUSE: Final = 0.1
"""Maximum pause in seconds between two transactions that drop a partition."""


def open_sqlite(url: str) -> Store:
    """Open the file at `sqlite:///relative.db` or `sqlite:////absolute.db?durability=process`, or create it.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: Kind NotAGravelerStore: the file is not a store. Other kinds: it cannot be created or read.
    """
    file = parse_url(url)
    file.prepare()
    return SQLiteStore(file)


class SQLiteStore(SqlStore):
    """Store in a SQLite file. It overrides all methods of `Store` except `persists`, and `set_many` is atomic."""

    statements = _ROWS

    def __init__(self, file: SQLiteFile) -> None:
        self._path = file.path
        self._file = file
        self._identity = file.identity()
        self._connections = Connections(self._connect, file.path)
        self._writer = Lock()
        self._turns = TurnFile(Path(f"{file.path}-turns"))

    def close(self) -> None:
        self._turns.close()
        self._connections.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        return self._run(lambda connection: [stored(connection.execute(_ROWS.get, key).fetchall()) for key in keys])

    def set_many(self, items: Sequence[Item]) -> None:
        self._transact(_ROWS.set, items)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        statement, parameters = swap_statement(_ROWS, swapped, predicate)

        def work(connection: sqlite3.Connection) -> None:
            with self._writer:
                connection.execute("BEGIN IMMEDIATE")
                if not connection.execute(statement, parameters).rowcount:
                    connection.rollback()
                    raise predicate_failed(swapped[0], swapped[1], predicate)
                connection.executemany(_ROWS.set, items)
                connection.execute("COMMIT")

        self._run(work, writing=True)
        return Predicate(swapped[2])

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            with self._writer:
                connection.execute("BEGIN IMMEDIATE")
                for partition, key, predicate in (*rows, *unchanged):
                    found = stored(connection.execute(_ROWS.get, (partition, key)).fetchall())
                    if found is None or predicate not in (EXISTS, found.predicate):
                        connection.rollback()
                        raise predicate_failed(partition, key, predicate)
                connection.executemany(_ROWS.delete, [(partition, key) for partition, key, _ in rows])
                connection.execute("COMMIT")

        self._run(work, writing=True)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), CHUNK_ROWS):
            chunk = slice(offset, offset + CHUNK_ROWS)
            partitions = [partition] * len(keys[chunk])
            self._transact(_ROWS.set, zip(partitions, keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True))

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
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
            # The locks are not fair. Without a pause, this loop would get them again before other waiting writers.
            time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return self._run(lambda connection: _split(connection, partition, pieces))

    def describe(self) -> Description:
        return self._run(partial(describe, path=self._path))

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
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

    def _connect(self) -> sqlite3.Connection:
        connection = self._file.connect()
        try:
            self._require_same_file()
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_same_file(self) -> None:
        """Refuse to continue if the file was moved or replaced. SQLite does not notice it in WAL mode: connections that
        are open would go on with a file that no other process opens any more.
        """
        if self._file.identity() != self._identity:
            raise moved(self._path)

    def _run(self, work: Callable[[sqlite3.Connection], _T], *, writing: bool = False) -> _T:
        """Run statements on a connection from the pool. After an error, open transactions are rolled back."""
        try:
            connection = self._connections.take()
            try:
                if writing:
                    self._require_same_file()
                return work(connection)
            finally:
                self._connections.give(connection)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise mapped(error, self._path, writing=writing) from error


def _split(connection: sqlite3.Connection, partition: bytes, pieces: int) -> list[bytes]:
    def step(start: bytes, rows: int) -> list[bytes]:
        return [key for [key] in connection.execute(_STEP, (partition, start, rows)).fetchall()]

    [[rows]] = connection.execute(_ROWS.count, (partition,)).fetchall()
    return split_points_by_steps(rows, pieces, step)


def _read_page(connection: sqlite3.Connection, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
    if keys.upper is None:
        cursor = connection.execute(_SCAN_FROM, (partition, keys.lower, rows))
    else:
        cursor = connection.execute(_SCAN, (partition, keys.lower, keys.upper, rows))
    found: list[bytes] = []
    values: list[bytes] = []
    size = 0
    try:
        # Small batches also avoid runs of the garbage collector over the tuples, which would double the cost of a scan.
        while chunk := cursor.fetchmany(_FETCH_ROWS):
            found += map(itemgetter(0), chunk)
            part = list(map(itemgetter(1), chunk))
            values += part
            size += sum(map(len, part))
            if size >= PAGE_BYTES:
                return RowPage(found, values, last=False)
    finally:
        cursor.close()
    return RowPage(found, values, last=len(found) < rows)
