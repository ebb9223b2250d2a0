"""Sessions are set up the way the store needs them, whatever the server's defaults are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pymysql import OperationalError
from sqlalchemy.pool import base as pool

from graveler_core.errors import InvalidInput, Kind, PermissionDenied, SlowDown, Unavailable
from graveler_core.kv import bulk, open_store
from graveler_core.kv.backends.mysql.sessions import MySQLSessions, parse_url
from graveler_core.kv.backends.mysql.store import open_mysql
from graveler_core.kv.store import EXISTS
from graveler_core.testing.lossy_network import Cut, lossy_network
from tests.servers.mariadb import execute, mariadb_server
from tests.servers.process import ServerProcess


def ask(sessions: MySQLSessions, question: str) -> Any:
    session = sessions.take()
    try:
        cursor = session.cursor()
        cursor.execute(question)
        [answer] = cursor.fetchone() or [None]
        return answer
    finally:
        session.close()


@pytest.fixture
def sessions(mysql_url: str) -> Iterator[MySQLSessions]:
    opened = MySQLSessions(parse_url(mysql_url))
    yield opened
    opened.close()


@pytest.fixture
def weak(mariadb: ServerProcess) -> Iterator[None]:
    """Defaults of the server that would break the store."""
    modes = execute(mariadb, "SELECT @@global.sql_mode, @@global.tx_isolation")[0]
    execute(mariadb, "SET GLOBAL sql_mode='NO_BACKSLASH_ESCAPES,ANSI_QUOTES'", "SET GLOBAL tx_isolation='SERIALIZABLE'")
    yield
    execute(mariadb, f"SET GLOBAL sql_mode='{modes[0]}'", f"SET GLOBAL tx_isolation='{modes[1]}'")


def test_settings(weak: None, sessions: MySQLSessions, mysql_url: str) -> None:
    assert ask(sessions, "SELECT @@tx_isolation") == "READ-COMMITTED"
    assert ask(sessions, "SELECT @@sql_mode") == "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
    assert ask(sessions, "SELECT @@autocommit") == 1
    assert ask(sessions, "SELECT @@innodb_lock_wait_timeout") == 20
    assert ask(sessions, "SELECT @@wait_timeout") == 120
    store = open_mysql(mysql_url)
    every = bytes(range(256)) + b"\\'\"%s\\%"
    predicate = store.set_if(b"p", every, every, None)
    store.set_if(b"p", every, every, predicate)
    assert [(row.key, row.value) for row in store.scan(b"p")] == [(every, every)]
    store.close()


def test_sessions_are_reused(sessions: MySQLSessions) -> None:
    assert len({ask(sessions, "SELECT connection_id()") for _ in range(5)}) == 1


def test_a_session_that_the_server_ended_is_replaced(sessions: MySQLSessions, mariadb: ServerProcess) -> None:
    first = ask(sessions, "SELECT connection_id()")
    execute(mariadb, f"KILL {first}")
    while execute(mariadb, f"SELECT count(*) FROM information_schema.processlist WHERE id={first}") != [(0,)]:
        pass
    assert ask(sessions, "SELECT connection_id()") != first


def test_the_locks_of_a_client_that_has_gone_silent_are_released(mariadb: ServerProcess, mysql_url: str) -> None:
    """Its network is gone: the server does not see that it has left."""
    with closing(open_mysql(mysql_url)) as store, lossy_network(mariadb.port) as network:
        store.set(b"p", b"a", b"1")
        through = mysql_url.replace(f":{mariadb.port}/", f":{network.port}/")
        far = MySQLSessions(parse_url(f"{through}?read_timeout=1"), idle=1)
        session = far.take()
        session.cursor().execute("BEGIN")
        session.cursor().execute("SELECT * FROM graveler_kv FOR UPDATE")
        network.lose(Cut.SILENCE)
        with pytest.raises(OperationalError, match="Lost connection"):
            session.cursor().execute("SELECT 1")
        store.set(b"p", b"a", b"2")
        session.invalidate()
        session.close()
        far.close()


def test_a_write_that_waits_for_a_row_is_refused_before_its_answer_is_late(mysql_url: str) -> None:
    with closing(open_mysql(f"{mysql_url}?read_timeout=4")) as store, closing(parse_url(mysql_url).connect()) as other:
        store.set(b"p", b"a", b"1")
        other.cursor().execute("BEGIN")
        other.cursor().execute("SELECT * FROM graveler_kv FOR UPDATE")
        with pytest.raises(SlowDown):
            store.set(b"p", b"a", b"2")


def test_closed_sessions_refuse(sessions: MySQLSessions) -> None:
    sessions.close()
    with pytest.raises(Unavailable, match="was closed"):
        sessions.take()


FORKED = """
import os, sys
from graveler_core.kv import open_store

store = open_store(sys.argv[1])
store.set(b"p", b"parent", b"0")
child = os.fork()
name = b"parent" if child else b"child"
for number in range(50):
    store.set(b"p", name, b"%d" % number)
    assert store.get(b"p", name).value == b"%d" % number
if not child:
    store.close()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert {row.key: row.value for row in store.scan(b"p")} == {b"parent": b"49", b"child": b"49"}
store.close()
"""


@pytest.mark.parametrize("kind", ["mysql", "redis"])
def test_a_store_is_used_on_both_sides_of_a_fork(kind: str, request: pytest.FixtureRequest) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, request.getfixturevalue(f"{kind}_url")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.ci
def test_a_replica_is_refused() -> None:
    with mariadb_server(["--read-only=1"]) as server:
        execute(server, "CREATE DATABASE kv")
        with pytest.raises(Unavailable, match="read-only") as caught:
            open_mysql(f"mysql://root@127.0.0.1:{server.port}/kv")
    assert caught.value.kind is Kind.StoreReadOnly


@pytest.mark.ci
@pytest.mark.parametrize("noticed_by", ["write", "transaction", "age"])
def test_a_server_that_becomes_a_replica_is_left(monkeypatch: pytest.MonkeyPatch, noticed_by: str) -> None:
    """Its old data must not be read for long in sessions that were opened before."""
    with mariadb_server() as server:
        execute(server, "CREATE DATABASE kv", "GRANT ALL ON kv.* TO 'ada'@'127.0.0.1' IDENTIFIED BY 'p'")
        with closing(open_mysql(f"mysql://ada:p@127.0.0.1:{server.port}/kv")) as store:
            store.set(b"p", b"k", b"v")
            execute(server, "SET GLOBAL read_only=1")
            assert store.get(b"p", b"k") is not None
            if noticed_by == "write":
                with pytest.raises(Unavailable, match="read-only"):
                    store.set(b"p", b"k", b"w")
            elif noticed_by == "transaction":
                with pytest.raises(Unavailable, match="read-only"):
                    bulk.delete_together(store, [(b"p", b"k", EXISTS)], [])
            else:
                later = time.time() + 31
                monkeypatch.setattr(pool, "time", SimpleNamespace(time=lambda: later))
            for _ in range(2):
                with pytest.raises(Unavailable, match="is read-only") as refused:
                    store.get(b"p", b"k")
                assert refused.value.kind is Kind.StoreReadOnly
            execute(server, "SET GLOBAL read_only=0")
            found = store.get(b"p", b"k")
            assert found is not None
            assert found.value == b"v"


def test_access_is_by_password(mariadb: ServerProcess, mysql_url: str) -> None:
    database = mysql_url.rpartition("/")[2]
    execute(mariadb, f"GRANT ALL ON {database}.* TO 'ada'@'127.0.0.1' IDENTIFIED BY 's3crét@/:'")
    at = f"127.0.0.1:{mariadb.port}/{database}"
    open_store(f"mysql://ada:s3cr%C3%A9t%40%2F%3A@{at}").close()
    wrong = f"mariadb://ada:s3cret@{at}"
    with pytest.raises(PermissionDenied) as caught:
        open_store(wrong)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.details)


@pytest.mark.parametrize("url", ["mysql://user:s3cret@127.0.0.1:1/db", "mariadb://u:s3cret@localhost:1/db"])
def test_an_unreachable_server(url: str) -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_mysql(url)
    assert caught.value.kind is Kind.StoreUnreachable
    assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.details)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://u:s3cret@host:port/db", "host and port"),
        ("mysql://u:s3cret@host", "one database"),
        ("mysql://u:s3cret@host/a/b", "one database"),
        ("mysql://u:s3cret@host/db?s3cret=1", "not one of the options"),
        ("mysql://u:s3cret@host/db?read_timeout=s3cret", "read_timeout"),
        ("mysql://u:s3cret@host/db?read_timeout=0", "read_timeout"),
        ("mysql://u:s3cret@host/db?ssl_verify_cert=1", "ssl_verify_cert must be true or false"),
        ("mysql://u:s3cret@host/db?ssl_ca=/nonexistent", "ssl_ca must be the path of a file"),
    ],
)
def test_urls_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert "u:s3cret" not in "".join(traceback.format_exception(caught.value))


def test_urls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    at = f"[::1]:3307/d%62?connect_timeout=3&ssl_ca={tmp_path}/ca.pem&ssl_disabled=false"
    target = parse_url(f"mysql+pymysql://ada:p%40ss@{at}")
    assert target.options == {
        "host": "::1",
        "port": 3307,
        "user": "ada",
        "password": b"p@ss",
        "database": "db",
        "connect_timeout": 3,
        "read_timeout": 60,
        "write_timeout": 60,
        "ssl_ca": f"{tmp_path}/ca.pem",
        "ssl_disabled": False,
    }
    assert "p%40ss" not in repr(target)
    assert "p@ss" not in repr(target)


@pytest.mark.parametrize(("option", "seconds"), [("", 20), ("read_timeout=600", 20), ("read_timeout=9", 3)])
def test_a_wait_for_a_row_ends_before_a_read_does(option: str, seconds: int) -> None:
    assert parse_url(f"mysql://u@h/db?{option}").lock_timeout == seconds


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    with pytest.raises(Unavailable, match="cannot be connected to") as caught:
        open_mysql(f"mysql://u:s3cret@127.0.0.1:1/db?ssl_ca={tmp_path}/ca.pem")
    assert "s3cret" not in str(caught.value)
