"""A PostgreSQL store under fire: sessions that end in the middle, deadlocks, tables that others lock."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from graveler_core.errors import OutcomeUnknown
from graveler_core.kv import bulk
from graveler_core.kv.backends.postgresql.store import open_postgresql
from graveler_core.kv.store import Store


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    opened = open_postgresql(postgresql_url)
    opened.set(b"p", b"a", b"old")
    opened.set(b"p", b"b", b"old")
    yield opened
    opened.close()


@contextmanager
def waiting(url: str, lock: bytes, call: Any) -> Iterator[tuple[psycopg.Connection[Any], int, Future[Any]]]:
    """A call of the store that waits for `lock`, held by the yielded connection, and the session it waits in."""
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as observer:
        holder.execute(lock)
        holder_pid = holder.info.backend_pid
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(call)
            pid = None
            while pid is None:
                assert not answer.done()
                pid = observer.execute(
                    "SELECT pid FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))", (holder_pid,)
                ).fetchone()
            yield holder, pid[0], answer


def end_session(url: str, pid: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))


def value(store: Store, key: bytes) -> bytes:
    found = store.get(b"p", key)
    assert found is not None
    return found.value


ROW = b"SELECT 1 FROM graveler_kv WHERE key = 'a' FOR UPDATE"
TABLE = b"LOCK TABLE graveler_kv IN ACCESS EXCLUSIVE MODE"


def test_a_write_whose_answer_is_lost(store: Store, postgresql_url: str) -> None:
    with waiting(postgresql_url, ROW, lambda: store.set(b"p", b"a", b"new")) as (_, pid, answer):
        end_session(postgresql_url, pid)
        with pytest.raises(OutcomeUnknown):
            answer.result()
    assert value(store, b"a") == b"old"
    store.set(b"p", b"a", b"newer")
    assert value(store, b"a") == b"newer"


def test_a_read_whose_answer_is_lost_is_asked_again(store: Store, postgresql_url: str) -> None:
    with waiting(postgresql_url, TABLE, partial(value, store, b"a")) as (holder, pid, answer):
        end_session(postgresql_url, pid)
        holder.rollback()
        assert answer.result() == b"old"


def test_idle_sessions_that_end_are_not_noticed(postgresql_url: str) -> None:
    """Each write finds that its session is gone before it sends anything, so no outcome is unknown."""
    name = uuid4().hex
    store = open_postgresql(f"{postgresql_url}&application_name={name}")
    ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = %s"
    for number in range(3):
        store.set(b"p", b"k", b"%d" % number)
        with psycopg.connect(postgresql_url, autocommit=True) as connection:
            assert connection.execute(ended, (name,)).fetchall() == [(True,)]
    bulk.set_many(store, [(b"p", b"k", b"last")])
    assert value(store, b"k") == b"last"
    store.close()


def test_a_deadlock_is_tried_again(store: Store, postgresql_url: str) -> None:
    """The call holds `a` and waits for `b`; the holder of `b` asks for `a`. One of the two is undone by the server."""
    lock = b"SELECT 1 FROM graveler_kv WHERE key = 'b' FOR UPDATE"
    items = [(b"p", b"b", b"new"), (b"p", b"a", b"new")]
    with waiting(postgresql_url, lock, lambda: bulk.set_many(store, items)) as (holder, _, answer):
        holder.execute("SET LOCAL deadlock_timeout = '60s'")
        holder.execute("UPDATE graveler_kv SET value = 'theirs' WHERE key = 'a'")
        assert not answer.done()
        holder.commit()
        answer.result()
    assert (value(store, b"a"), value(store, b"b")) == (b"new", b"new")


def test_a_swap_judges_the_newest_row(store: Store, postgresql_url: str) -> None:
    """It waits for another writer and then sees what that one has written."""
    found = store.get(b"p", b"a")
    assert found is not None
    predicate = found.predicate
    theirs = b"UPDATE graveler_kv SET value = 'theirs' WHERE key = 'a'"

    def swap() -> bool:
        try:
            store.set_if(b"p", b"a", b"mine", predicate)
        except Exception as error:
            return type(error).__name__ == "PredicateFailed"
        return False

    with waiting(postgresql_url, theirs, swap) as (holder, _, answer):
        holder.commit()
        assert answer.result()
    assert value(store, b"a") == b"theirs"
