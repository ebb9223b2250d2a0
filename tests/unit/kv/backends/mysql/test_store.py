"""A MySQL store under fire: sessions that end in the middle, deadlocks, rows that others lock, large results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown
from graveler_core.kv import bulk
from graveler_core.kv.backends.mysql import sessions as mysql_sessions
from graveler_core.kv.backends.mysql import store as mysql
from graveler_core.kv.backends.mysql.sessions import parse_url
from graveler_core.kv.backends.mysql.store import MySQLStore, open_mysql
from graveler_core.kv.paging import CHUNK_ROWS, FIRST_PAGE_ROWS, PAGE_BYTES, PAGE_ROWS
from graveler_core.kv.store import EXISTS, Store
from tests.servers.mariadb import execute
from tests.servers.process import ServerProcess

WAITING = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
"""The server keeps its answer for a moment, so it may name a session that has ended. It keeps it for as long as it is
asked more often than every 0.1 seconds."""
REFRESHED = 0.2
"""Seconds between two questions, so that the answer is new."""
SESSIONS = "SELECT id FROM information_schema.processlist"
ROW = "SELECT 1 FROM graveler_kv WHERE `key` = 'a' FOR UPDATE"


@pytest.fixture
def store(mysql_url: str) -> Iterator[Store]:
    opened = open_mysql(mysql_url)
    opened.set(b"p", b"a", b"old")
    opened.set(b"p", b"b", b"old")
    yield opened
    opened.close()


@contextmanager
def holding(url: str, *statements: str) -> Iterator[pymysql.Connection]:
    """A transaction of another client."""
    connection = parse_url(url).connect()
    connection.begin()
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        yield connection
    connection.close()


@contextmanager
def waiting(mariadb: ServerProcess, call: Callable[[], Any]) -> Iterator[tuple[int, Future[Any]]]:
    """A call of the store that waits for a row, and the session it waits in."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call)
        while not (found := {id for [id] in execute(mariadb, WAITING)} & {id for [id] in execute(mariadb, SESSIONS)}):
            assert not wait([answer], timeout=REFRESHED).done
        [session] = found
        assert isinstance(session, int)
        yield session, answer


def value(store: Store, key: bytes) -> bytes:
    found = store.get(b"p", key)
    assert found is not None
    return found.value


def test_a_write_whose_answer_is_lost(store: Store, mariadb: ServerProcess, mysql_url: str) -> None:
    with (
        holding(mysql_url, ROW),
        waiting(mariadb, lambda: store.set(b"p", b"a", b"new")) as (session, answer),
    ):
        execute(mariadb, f"KILL {session}")
        with pytest.raises(OutcomeUnknown):
            answer.result()
    assert value(store, b"a") == b"old"
    store.set(b"p", b"a", b"newer")
    assert value(store, b"a") == b"newer"


def test_a_deadlock_is_tried_again(store: Store, mariadb: ServerProcess, mysql_url: str) -> None:
    """The call holds `a` and waits for `b`; the holder of `b` asks for `a`. The call has done less and is undone."""
    rows = [(b"p", key, EXISTS) for key in (b"a", b"b")]
    heavy = ["UPDATE graveler_kv SET `value` = 'theirs' WHERE `key` = 'b'"]
    heavy += [f"INSERT INTO graveler_kv VALUES ('q', '{number}', '')" for number in range(50)]
    with (
        holding(mysql_url, *heavy) as holder,
        waiting(mariadb, lambda: bulk.delete_together(store, rows, [])) as (_, answer),
    ):
        with holder.cursor() as cursor:
            cursor.execute("UPDATE graveler_kv SET `value` = 'theirs' WHERE `key` = 'a'")
        assert not answer.done()
        holder.commit()
        answer.result()
    assert list(store.scan(b"p")) == []


def test_a_swap_judges_the_newest_row(store: Store, mariadb: ServerProcess, mysql_url: str) -> None:
    """It waits for another writer and then sees what that one has written."""
    found = store.get(b"p", b"a")
    assert found is not None
    swap = store.set_if
    with (
        holding(mysql_url, "UPDATE graveler_kv SET `value` = 'theirs' WHERE `key` = 'a'") as holder,
        waiting(mariadb, lambda: swap(b"p", b"a", b"mine", found.predicate)) as (_, answer),
    ):
        holder.commit()
        with pytest.raises(PredicateFailed):
            answer.result()
    assert value(store, b"a") == b"theirs"


def test_a_row_that_stays_locked(mysql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql_sessions, "_LOCK_SECONDS", 1)
    store = open_mysql(mysql_url)
    store.set(b"p", b"a", b"old")
    with holding(mysql_url, ROW), pytest.raises(SlowDown):
        store.set(b"p", b"a", b"new")
    assert value(store, b"a") == b"old"
    store.close()


def test_a_partition_goes_chunk_by_chunk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 2 * CHUNK_ROWS + 5
    bulk.load(store, b"q", pa.array([b"%05d" % number for number in range(rows)]), pa.array([b"v"] * rows))
    written: list[int] = []
    write = MySQLStore._write

    def counted(self: Any, statement: str, parameters: Any) -> int:
        written.append(write(self, statement, parameters))
        return written[-1]

    monkeypatch.setattr(MySQLStore, "_write", counted)
    assert bulk.drop_partition(store, b"q") == rows
    assert written == [CHUNK_ROWS, CHUNK_ROWS, 5]


@pytest.mark.parametrize("size", [1, 100, 1_000_000])
def test_long_calls_take_several_statements(store: Store, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """And are as atomic as with one."""
    monkeypatch.setattr(mysql, "_PLACES", min(size, 500))
    monkeypatch.setattr(mysql, "_STATEMENT_BYTES", size)
    rows = [(partition, b"%02d" % number, b"v") for number in range(20) for partition in (b"q", b"r")]
    bulk.set_many(store, rows)
    places = [(partition, key) for partition, key, _ in rows]
    found = bulk.get_many(store, [*places, (b"q", b"never"), places[0]])
    assert [answer and answer.value for answer in found] == [b"v"] * 40 + [None, b"v"]
    expected = [(*place, EXISTS) for place in places]
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, expected, [(b"p", b"never", EXISTS)])
    assert bulk.about_rows(store, b"q") == bulk.about_rows(store, b"r") == 20
    bulk.delete_together(store, expected, [(b"p", b"a", EXISTS)])
    assert bulk.about_rows(store, b"q") == bulk.about_rows(store, b"r") == 0


def sessions_made(mariadb: ServerProcess) -> int:
    [[_, count]] = execute(mariadb, "SHOW GLOBAL STATUS LIKE 'Connections'")
    return int(str(count))


def test_scans_of_small_rows_read_large_pages(store: Store, mariadb: ServerProcess) -> None:
    rows = FIRST_PAGE_ROWS + PAGE_ROWS + 5
    bulk.load(store, b"q", pa.array([b"%05d" % number for number in range(rows)]), pa.array([b"v"] * rows))
    [[_, before]] = execute(mariadb, "SHOW GLOBAL STATUS LIKE 'Com_select'")
    assert len(list(store.scan(b"q"))) == rows
    [[_, after]] = execute(mariadb, "SHOW GLOBAL STATUS LIKE 'Com_select'")
    assert int(str(after)) - int(str(before)) == 3
    assert [batch.num_rows for batch in bulk.scan_arrow(store, b"q")] == [PAGE_ROWS, rows - PAGE_ROWS]


def test_scans_of_large_rows_give_up_few_sessions(store: Store, mariadb: ServerProcess) -> None:
    """The first page ends early, and the others ask for as many rows as they can hold."""
    size = 40_000
    values = pa.array([bytes(size)] * 1_000)
    bulk.load(store, b"q", pa.array([b"%04d" % number for number in range(1_000)]), values)
    before = sessions_made(mariadb)
    batches = [batch.num_rows for batch in bulk.scan_arrow(store, b"q")]
    assert sessions_made(mariadb) - before <= 3  # one of them asks for the number
    assert sum(batches) == 1_000
    assert len(batches) >= 1_000 * size // (2 * PAGE_BYTES)
    assert max(batches) * size <= PAGE_BYTES + 40 * size
    assert value(store, b"a") == b"old"
