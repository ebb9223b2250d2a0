"""The shared store: one table in a PostgreSQL database, for many processes on many hosts.

Schema and pooling are SQLAlchemy's; every statement of the store runs on psycopg's own cursor, prepared, in binary, one
statement a transaction. Conditions are judged by the server on the newest committed row (READ COMMITTED re-evaluates an
UPDATE's WHERE after waiting for a concurrent writer), so none of them is checked first and written later.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import itemgetter
from typing import Any, Final, LiteralString, TypeVar, cast

import psycopg
import pyarrow as pa
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from graveler_core.errors import GravelerError, SlowDown, Unavailable
from graveler_core.kv.abilities import Description, Expected, Item
from graveler_core.kv.backends import postgresql_schema
from graveler_core.kv.backends import postgresql_statements as sql
from graveler_core.kv.backends.postgresql_description import described
from graveler_core.kv.backends.postgresql_errors import RETRIED, is_lost, mapped
from graveler_core.kv.backends.postgresql_sessions import Sessions, Target, parse_url
from graveler_core.kv.backends.postgresql_turns import AdvisoryTurns
from graveler_core.kv.columns import batch_of_columns
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
)
from graveler_core.kv.store import EXISTS, KeyValue, Predicate, Store, Stored, predicate_failed

_T = TypeVar("_T")

_ATTEMPTS: Final = 6


def open_postgresql(url: str) -> Store:
    """Opens the database of `postgresql://user:password@host:port/database`, and makes the store's tables if absent.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The server cannot be reached or is in recovery, or the tables there are not graveler's.
    """
    target = parse_url(url)
    sessions = Sessions(target)
    engine = create_engine("postgresql+psycopg://", creator=target.connect, poolclass=NullPool)
    try:
        sessions.take().close()
        postgresql_schema.prepare(engine, target.shown)
    except (psycopg.Error, SQLAlchemyError) as error:
        sessions.close()
        raise mapped(error, target.shown, writing=False) from error
    except GravelerError:
        sessions.close()
        raise
    return PostgreSQLStore(target, sessions)


class PostgreSQLStore:
    """A store in PostgreSQL; see `Store` for what its methods promise. Has every ability; `set_many` is atomic."""

    def __init__(self, target: Target, sessions: Sessions) -> None:
        self._shown = target.shown
        self._sessions = sessions
        self._turns = AdvisoryTurns(target)

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        rows = self._read(sql.GET, (partition, key))
        return Stored(rows[0][0], Predicate(rows[0][0])) if rows else None

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._write(sql.SET, (partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if predicate is None:
            written = self._write(sql.CREATE, (partition, key, value))
        elif predicate == EXISTS:
            written = self._write(sql.REPLACE, (value, partition, key))
        else:
            written = self._write(sql.SWAP, (value, partition, key, predicate.token))
        if not written:
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._write(sql.DELETE, (partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        if predicate == EXISTS:
            removed = self._write(sql.DELETE, (partition, key))
        else:
            removed = self._write(sql.DELETE_IF, (partition, key, predicate.token))
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
        self._sessions.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        partitions, wanted = zip(*keys, strict=True)
        answers: list[Stored | None] = [None] * len(keys)
        for place, value in self._read(sql.GET_MANY, (list(partitions), list(wanted))):
            answers[place - 1] = Stored(value, Predicate(value))
        return answers

    def set_many(self, items: Sequence[Item]) -> None:
        # One statement may write a row once; in one order for all, so that two calls cannot wait for each other.
        last = sorted({(partition, key): value for partition, key, value in items}.items())
        partitions, keys = zip(*(place for place, _ in last), strict=True)
        self._write(sql.SET_MANY, (list(partitions), list(keys), [value for _, value in last]))

    def sets_atomically(self) -> bool:
        return True

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        if not self._write(sql.DELETE_TOGETHER, (*_columns(rows), *_columns(unchanged))):
            raise predicate_failed(*rows[0])

    def deletes_together(self) -> bool:
        return True

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), CHUNK_ROWS):
            piece = slice(offset, offset + CHUNK_ROWS)
            self._write(sql.LOAD, (partition, keys[piece].to_pylist(), values[piece].to_pylist()))

    def scan_arrow(self, partition: bytes, keys: Interval) -> Iterator[pa.RecordBatch]:
        return (
            batch_of_columns(page.keys, page.values)
            for page in pages(partial(self._page, partition), keys, None, PAGE_ROWS)
        )

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while True:
            chunk = self._write(sql.DROP, (partition, partition, CHUNK_ROWS))
            dropped += chunk
            # Another one that drops the same rows makes a chunk smaller without being done.
            if chunk < CHUNK_ROWS and not self._read(sql.ANY, (partition,)):
                return dropped

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return [key for [key] in self._read(sql.SPLIT, (pieces, partition))]

    def about_rows(self, partition: bytes) -> int:
        [[rows]] = self._read(sql.COUNT, (partition,))
        return int(rows)

    def describe(self) -> Description:
        before = time.time()
        [row] = self._read(sql.DESCRIBE, ())
        return described(row, before, time.time())

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        return self._turns.turn(name, patience)

    def _page(self, partition: bytes, keys: Interval, rows: int) -> Page:
        if keys.upper is None:
            found = self._read(sql.SCAN_FROM, (partition, keys.lower, rows, PAGE_BYTES))
        else:
            found = self._read(sql.SCAN, (partition, keys.lower, keys.upper, rows, PAGE_BYTES))
        keys_found, values = list(map(itemgetter(0), found)), list(map(itemgetter(1), found))
        return Page(keys_found, values, last=len(found) < rows and sum(map(len, values)) < PAGE_BYTES)

    def _read(self, statement: LiteralString, parameters: Sequence[Any]) -> list[Any]:
        try:
            return self._attempt(statement, parameters, _rows, writing=False)
        except Unavailable:
            # A read may be asked again: the server may have been restarted under a session that looked alive.
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
        """Runs one statement as one transaction; again, if the server undid it and asks for that."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._once(statement, parameters, answer, writing=writing)
            except SlowDown as error:
                if error.details.get("state") not in RETRIED:
                    raise
                time.sleep(random.uniform(0, 0.005 * 2**attempt))  # noqa: S311 - jitter, no secret
        return self._once(statement, parameters, answer, writing=writing)

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


def _columns(rows: Sequence[Expected]) -> tuple[list[bytes], list[bytes], list[bytes | None]]:
    partitions, keys, predicates = zip(*rows, strict=True) if rows else ((), (), ())
    return list(partitions), list(keys), [predicate.token for predicate in predicates]


def _rows(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return cursor.fetchall()


def _count(cursor: psycopg.Cursor[Any]) -> int:
    return cursor.rowcount
