"""Store in a table of a MySQL or MariaDB database, for many processes on many hosts.

Each method for one row is one statement and one transaction, and the server evaluates its predicate on the newest
committed row, because in READ COMMITTED an UPDATE or DELETE reads what it locks. PyMySQL sends the statements, below
the connection pool of SQLAlchemy. `delete_together`, and bulk writes that are larger than one statement, are
transactions of several statements. Until the COMMIT is sent, such a transaction has changed nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar, cast

import pyarrow as pa
import pymysql
from pymysql.constants import ER
from pymysql.cursors import Cursor, SSCursor
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from graveler_core.errors import GravelerError, Kind, PredicateFailed, Unavailable
from graveler_core.kv.backends.mysql import schema
from graveler_core.kv.backends.mysql import statements as sql
from graveler_core.kv.backends.mysql.description import described
from graveler_core.kv.backends.mysql.errors import RETRIED, code_of, is_lost, mapped
from graveler_core.kv.backends.mysql.pages import PageReader, PartOfResult, read_rows
from graveler_core.kv.backends.mysql.sessions import MySQLSessions, MySQLTarget, parse_url
from graveler_core.kv.backends.mysql.turns import NamedLockTurns
from graveler_core.kv.backends.sql import SqlStore, split_points_by_steps, tried_again
from graveler_core.kv.paging import CHUNK_ROWS, KeyBounds, RowPage
from graveler_core.kv.store import EXISTS, Description, Expected, Item, Predicate, Store, Stored, predicate_failed

_T = TypeVar("_T")
_Place = tuple[bytes, bytes]
_Execute = Callable[[str, Sequence[Any]], Cursor]

_PLACES: Final = 500
"""Number of keys that one statement names."""
_STATEMENT_BYTES: Final = 1_024 * 1_024
"""Size of the rows after which a statement ends. As text they are twice as large, which is less than servers accept."""


def open_mysql(url: str) -> Store:
    """Open the database at `mysql://user:password@host:port/database`. Create the tables if they do not exist.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The server cannot be reached or is read-only, or the tables are not those of graveler.
    """
    target = parse_url(url)
    sessions = MySQLSessions(target)
    try:
        session = sessions.take()
        try:
            schema.prepare(_driver(session), target)
        finally:
            session.close()
    except (pymysql.Error, SQLAlchemyError) as error:
        sessions.close()
        raise mapped(error, target.shown, writing=False) from error
    except GravelerError:
        sessions.close()
        raise
    return MySQLStore(target, sessions)


class MySQLStore(SqlStore):
    """Store in MySQL or MariaDB. It overrides all methods except `write_and_swap` and `persists`.

    `set_many` is atomic.
    """

    statements = sql.ROWS

    def __init__(self, target: MySQLTarget, sessions: MySQLSessions) -> None:
        self._shown = target.shown
        self._sessions = sessions
        self._turns = NamedLockTurns(target)

    def close(self) -> None:
        self._turns.close()
        self._sessions.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        found: dict[tuple[bytes, bytes], Stored] = {}
        for places in _in_parts(sorted(set(keys))):
            for partition, key, value in self._read(*_of_places(sql.GET_MANY, places)):
                found[partition, key] = Stored(value, Predicate(value))
        return [found.get(place) for place in keys]

    def set_many(self, items: Sequence[Item]) -> None:
        # All calls sort their rows, so that they rarely deadlock.
        last = sorted({(partition, key): value for partition, key, value in items}.items())
        statements = list(_insertions([(*place, value) for place, value in last]))
        if len(statements) == 1:
            self._write(*statements[0])
        else:
            self._transact(lambda execute: [execute(*statement) for statement in statements])

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        expected = [*rows, *unchanged]

        def work(execute: _Execute) -> None:
            found: dict[tuple[bytes, bytes], Predicate] = {}
            for places in _in_parts(sorted({(partition, key) for partition, key, _ in expected})):
                locked = execute(*_of_places(sql.LOCK, places)).fetchall()
                found.update({(partition, key): Predicate(value) for partition, key, value in locked})
            for partition, key, predicate in expected:
                present = found.get((partition, key))
                if present is None or predicate not in (EXISTS, present):
                    raise predicate_failed(partition, key, predicate)
            for places in _in_parts(sorted((partition, key) for partition, key, _ in rows)):
                execute(*_of_places(sql.DELETE_MANY, places))

        self._transact(work)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), CHUNK_ROWS):
            chunk = slice(offset, offset + CHUNK_ROWS)
            rows = zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True)
            for statement in _insertions([(partition, key, value) for key, value in rows]):
                self._write(*statement)

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while True:
            chunk = self._write(sql.DROP, (partition, CHUNK_ROWS))
            dropped += chunk
            # A chunk is also smaller if another process drops the same rows, so check that no row is left.
            if chunk < CHUNK_ROWS and not self._read(sql.ANY, (partition,)):
                return dropped

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        def step(start: bytes, rows: int) -> list[bytes]:
            return [key for [key] in self._read(sql.STEP, (partition, start, rows))]

        return split_points_by_steps(self.about_rows(partition), pieces, step)

    def describe(self) -> Description:
        settings = dict(self._read(sql.SETTINGS, ()))
        before = time.time()
        [row] = self._read(sql.DESCRIBE, ())
        return described(settings, row, before, time.time())

    def _reader(self, partition: bytes) -> Callable[[KeyBounds, int], RowPage]:
        return PageReader(partition, self._read_part).page

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        return self._reader(partition)(keys, rows)

    def _read_part(self, statement: str, parameters: Sequence[Any]) -> PartOfResult:
        def work(session: PoolProxiedConnection) -> PartOfResult:
            with _driver(session).cursor(SSCursor) as cursor:
                part = read_rows(cursor, statement, parameters)
            if part.abandoned:
                session.invalidate()
            return part

        return self._query(work)

    def _read(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        return self._query(lambda session: list(_executed(_driver(session), statement, parameters).fetchall()))

    def _write(self, statement: str, parameters: Sequence[Any]) -> int:
        def work(session: PoolProxiedConnection) -> int:
            try:
                return int(_executed(_driver(session), statement, parameters).rowcount)
            except pymysql.IntegrityError as error:
                if code_of(error) == ER.DUP_ENTRY:
                    return 0
                raise

        return tried_again(partial(self._once, work, writing=True), RETRIED)

    def _transact(self, work: Callable[[_Execute], object]) -> None:
        """Run statements in one transaction."""

        def transaction(session: PoolProxiedConnection) -> None:
            connection = _driver(session)
            try:
                connection.begin()
                work(partial(_executed, connection))
            except pymysql.Error as error:
                # The session ends, and the server rolls back.
                session.invalidate()
                raise self._failed(error, writing=False) from error
            except PredicateFailed:
                connection.rollback()
                raise
            connection.commit()

        tried_again(partial(self._once, transaction, writing=True), RETRIED)

    def _query(self, work: Callable[[PoolProxiedConnection], _T]) -> _T:
        once = partial(self._once, work, writing=False)
        try:
            return tried_again(once, RETRIED)
        except Unavailable:
            # Repeat the read: the server may have been restarted while the pooled session was idle.
            return tried_again(once, RETRIED)

    def _once(self, work: Callable[[PoolProxiedConnection], _T], *, writing: bool) -> _T:
        try:
            session = self._sessions.take()
        except (pymysql.Error, SQLAlchemyError) as error:
            raise mapped(error, self._shown, writing=False) from error
        try:
            return work(session)
        except pymysql.Error as error:
            if is_lost(error):
                session.invalidate()
            raise self._failed(error, writing=writing) from error
        except GravelerError:
            raise
        except BaseException:
            session.invalidate()
            raise
        finally:
            session.close()

    def _failed(self, error: pymysql.Error, *, writing: bool) -> GravelerError:
        """Return the error of graveler. If the server has become a replica, its sessions are replaced."""
        failure = mapped(error, self._shown, writing=writing)
        if failure.kind is Kind.StoreReadOnly:
            self._sessions.replace()
        return failure


def _driver(session: PoolProxiedConnection) -> pymysql.Connection[Any]:
    return cast("pymysql.Connection[Any]", session.driver_connection)


def _executed(connection: pymysql.Connection[Any], statement: str, parameters: Sequence[Any]) -> Cursor:
    cursor: Cursor = connection.cursor()
    cursor.execute(statement, parameters)
    return cursor


def _in_parts(places: Sequence[_Place]) -> Iterator[Sequence[_Place]]:
    return (places[offset : offset + _PLACES] for offset in range(0, len(places), _PLACES))


def _of_places(statement: str, places: Sequence[_Place]) -> tuple[str, list[bytes]]:
    """Return a statement that names keys, with its parameters."""
    return statement.format(sql.placeholders(2, len(places))), list(chain.from_iterable(places))


def _insertions(rows: Sequence[Item]) -> Iterator[tuple[str, list[bytes]]]:
    """Return statements that write rows, with their parameters."""
    part: list[Item] = []
    size = 0
    for row in rows:
        part.append(row)
        size += sum(map(len, row))
        if size >= _STATEMENT_BYTES or len(part) == CHUNK_ROWS:
            yield _insertion(part)
            part, size = [], 0
    if part:
        yield _insertion(part)


def _insertion(rows: Sequence[Item]) -> tuple[str, list[bytes]]:
    return sql.SET_MANY.format(sql.placeholders(3, len(rows))), list(chain.from_iterable(rows))
