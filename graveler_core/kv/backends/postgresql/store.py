"""Store in a table of a PostgreSQL database, for many processes on many hosts.

SQLAlchemy is used for the schema and the connection pool. All other statements run on cursors of psycopg: prepared, in
binary format, and with one statement per transaction. The server evaluates predicates on the newest committed row,
because in READ COMMITTED an UPDATE evaluates its WHERE again after waiting for a concurrent writer. So a predicate is
never checked in one step and the value written in another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, LiteralString, TypeVar, cast

import psycopg
import pyarrow as pa
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from graveler_core.errors import GravelerError, Unavailable
from graveler_core.kv.backends.postgresql import schema
from graveler_core.kv.backends.postgresql import statements as sql
from graveler_core.kv.backends.postgresql.description import described
from graveler_core.kv.backends.postgresql.errors import RETRIED, is_lost, mapped
from graveler_core.kv.backends.postgresql.sessions import ConnectionTarget, Sessions, parse_url
from graveler_core.kv.backends.postgresql.turns import AdvisoryTurns
from graveler_core.kv.backends.sql import SqlStore, tried_again
from graveler_core.kv.paging import (
    CHUNK_ROWS,
    PAGE_BYTES,
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


def open_postgresql(url: str) -> Store:
    """Open the database at `postgresql://user:password@host:port/database`. Create the tables if they do not exist.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The server cannot be reached or is in recovery, or the tables are not those of graveler.
    """
    target = parse_url(url)
    sessions = Sessions(target)
    engine = create_engine("postgresql+psycopg://", creator=target.connect, poolclass=NullPool)
    try:
        sessions.take().close()
        schema.prepare(engine, target.shown)
    except (psycopg.Error, SQLAlchemyError) as error:
        sessions.close()
        raise mapped(error, target.shown, writing=False) from error
    except GravelerError:
        sessions.close()
        raise
    return PostgreSQLStore(target, sessions)


class PostgreSQLStore(SqlStore):
    """Store in PostgreSQL. It overrides all methods of `Store` except `persists`, and `set_many` is atomic."""

    statements = sql.ROWS

    def __init__(self, target: ConnectionTarget, sessions: Sessions) -> None:
        self._shown = target.shown
        self._sessions = sessions
        self._turns = AdvisoryTurns(target)

    def close(self) -> None:
        self._turns.close()
        self._sessions.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        answers: list[Stored | None] = [None] * len(keys)
        if len(keys) <= len(sql.GET_FEW):
            found = self._read(sql.GET_FEW[len(keys) - 1], [*chain.from_iterable(keys)])
        else:
            partitions, wanted = zip(*keys, strict=True)
            found = self._read(sql.GET_MANY, (list(partitions), list(wanted)))
        for place, value in found:
            answers[place - 1] = Stored(value, Predicate(value))
        return answers

    def set_many(self, items: Sequence[Item]) -> None:
        if len(items) == 1:
            self._write(sql.ROWS.set, items[0])
        else:
            self._write(sql.SET_MANY, _sorted_columns(items))

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        if predicate is None or predicate == EXISTS:
            return super().write_and_swap(items, swapped, predicate)
        partition, key, value = swapped
        if not self._write(sql.WRITE_AND_SWAP, (value, partition, key, predicate.token, *_sorted_columns(items))):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        if not self._write(sql.DELETE_TOGETHER, (*_columns(rows), *_columns(unchanged))):
            raise predicate_failed(*rows[0])

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), CHUNK_ROWS):
            chunk = slice(offset, offset + CHUNK_ROWS)
            self._write(sql.LOAD, (partition, keys[chunk].to_pylist(), values[chunk].to_pylist()))

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while True:
            chunk = self._write(sql.DROP, (partition, partition, CHUNK_ROWS))
            dropped += chunk
            # A chunk is also smaller if another process drops the same rows, so check that no row is left.
            if chunk < CHUNK_ROWS and not self._read(sql.ANY, (partition,)):
                return dropped

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return [key for [key] in self._read(sql.SPLIT, (pieces, partition))]

    def describe(self) -> Description:
        before = time.time()
        [row] = self._read(sql.DESCRIBE, ())
        return described(row, before, time.time())

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        if keys.upper is None:
            found = self._read(sql.SCAN_FROM, (partition, keys.lower, rows, PAGE_BYTES))
        else:
            found = self._read(sql.SCAN, (partition, keys.lower, keys.upper, rows, PAGE_BYTES))
        keys_found, values = list(map(itemgetter(0), found)), list(map(itemgetter(1), found))
        return RowPage(keys_found, values, last=len(found) < rows and sum(map(len, values)) < PAGE_BYTES)

    def _read(self, statement: LiteralString, parameters: Sequence[Any]) -> list[Any]:
        try:
            return self._attempt(statement, parameters, _rows, writing=False)
        except Unavailable:
            # Repeat the read: the server may have been restarted while the pooled session was idle.
            return self._attempt(statement, parameters, _rows, writing=False)

    def _write(self, statement: LiteralString, parameters: Sequence[Any]) -> int:
        return self._attempt(statement, parameters, _count, writing=True)

    def _attempt(
        self,
        statement: LiteralString,
        parameters: Sequence[Any],
        answer: Callable[[psycopg.Cursor[Any]], _T],
        *,
        writing: bool,
    ) -> _T:
        """Run one statement as one transaction. Retry it if the server rolled it back and allows a retry."""
        return tried_again(partial(self._once, statement, parameters, answer, writing=writing), RETRIED)

    def _once(
        self,
        statement: LiteralString,
        parameters: Sequence[Any],
        answer: Callable[[psycopg.Cursor[Any]], _T],
        *,
        writing: bool,
    ) -> _T:
        try:
            session = self._sessions.take()
        except (psycopg.Error, SQLAlchemyError) as error:
            raise mapped(error, self._shown, writing=False) from error
        try:
            connection = cast("psycopg.Connection[Any]", session.driver_connection)
            with connection.cursor(binary=True) as cursor:
                return answer(cursor.execute(statement, parameters))
        except psycopg.Error as error:
            if is_lost(error):
                session.invalidate()
            raise mapped(error, self._shown, writing=writing) from error
        except BaseException:
            session.invalidate()
            raise
        finally:
            session.close()


def _sorted_columns(items: Sequence[Item]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return items as columns. A statement can write each row only once, and sorted rows cannot cause a deadlock."""
    last = sorted({(partition, key): value for partition, key, value in items}.items())
    partitions, keys = zip(*(place for place, _ in last), strict=True)
    return list(partitions), list(keys), [value for _, value in last]


def _columns(rows: Sequence[Expected]) -> tuple[list[bytes], list[bytes], list[bytes | None]]:
    partitions, keys, predicates = zip(*rows, strict=True) if rows else ((), (), ())
    return list(partitions), list(keys), [predicate.token for predicate in predicates]


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall()


def _count(cursor: psycopg.Cursor[Any]) -> int:
    return cursor.rowcount
