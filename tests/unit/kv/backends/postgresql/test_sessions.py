"""Sessions are set up the way the store needs them, whatever the server's defaults are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.postgresql.errors import is_lost, mapped
from graveler_core.kv.backends.postgresql.sessions import Sessions, parse_url
from graveler_core.kv.backends.postgresql.store import open_postgresql
from tests.postgresql_server import standby_server


def ask(sessions: Sessions, question: str) -> Any:
    session = sessions.take()
    try:
        cursor = session.cursor()
        cursor.execute(question)
        [answer] = cursor.fetchone() or [None]
        return answer
    finally:
        session.close()


@pytest.fixture
def sessions(request: pytest.FixtureRequest, postgresql_url: str) -> Iterator[Sessions]:
    opened = Sessions(parse_url(postgresql_url + getattr(request, "param", "")))
    yield opened
    opened.close()


WEAK = "%20-cdefault_transaction_isolation%3Dserializable%20-csynchronous_commit%3Doff"
STRONG = "%20-csynchronous_commit%3Dremote_apply"


@pytest.mark.parametrize(
    ("sessions", "durable"), [("", "on"), (WEAK, "local"), (STRONG, "remote_apply")], indirect=["sessions"]
)
def test_settings(sessions: Sessions, durable: str) -> None:
    assert ask(sessions, "SHOW transaction_isolation") == "read committed"
    assert ask(sessions, "SHOW synchronous_commit") == durable


def test_sessions_are_reused(sessions: Sessions) -> None:
    assert len({ask(sessions, "SELECT pg_backend_pid()") for _ in range(5)}) == 1


def test_a_session_that_the_server_ended_is_replaced(sessions: Sessions, postgresql_server: str) -> None:
    first = ask(sessions, "SELECT pg_backend_pid()")
    end_session(postgresql_server, first)
    assert ask(sessions, "SELECT pg_backend_pid()") != first


def end_session(server: str, pid: int) -> None:
    """Ends a session of another client, and waits until it is gone."""
    with psycopg.connect(server, autocommit=True) as connection:
        assert connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,)).fetchone() == (True,)


@pytest.mark.parametrize("sessions", ["&read_timeout=0.2"], indirect=True)
def test_an_answer_that_does_not_come_in_time(sessions: Sessions) -> None:
    """The session is closed, because its answer would be taken for that of the next statement."""
    first = ask(sessions, "SELECT pg_backend_pid()")
    started = time.monotonic()
    session = sessions.take()
    with pytest.raises(psycopg.OperationalError, match=r"no answer arrived within 0\.2 seconds") as caught:
        session.cursor().execute("SELECT pg_sleep(30)")
    assert time.monotonic() - started < 10
    assert is_lost(caught.value)
    assert mapped(caught.value, "here", writing=True).kind is Kind.OutcomeUnknown
    assert mapped(caught.value, "here", writing=False).kind is Kind.StoreUnreachable
    session.invalidate()
    session.close()
    assert ask(sessions, "SELECT pg_backend_pid()") != first


def test_the_time_out_is_no_option_of_the_driver() -> None:
    assert parse_url("postgresql://host/db").read_timeout == 60
    target = parse_url("postgresql://host/db?read_timeout=2.5&sslmode=require&connect_timeout=3")
    assert target.read_timeout == 2.5
    assert (target.conninfo.count("sslmode=require"), "read_timeout" in target.conninfo) == (1, False)
    with pytest.raises(InvalidInput, match="timeout"):
        parse_url("postgresql://host/db?read_timeout=soon")


def test_closed_sessions_refuse(sessions: Sessions) -> None:
    sessions.close()
    with pytest.raises(Unavailable, match="was closed"):
        sessions.take()


FORKED = """
import os, sys
from graveler_core.kv.backends.postgresql.store import open_postgresql

store = open_postgresql(sys.argv[1])
store.set(b"p", b"parent", b"0")
child = os.fork()
name = b"parent" if child else b"child"
for number in range(100):
    store.set(b"p", name, b"%d" % number)
    assert store.get(b"p", name).value == b"%d" % number
if not child:
    store.close()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert {row.key: row.value for row in store.scan(b"p")} == {b"parent": b"99", b"child": b"99"}
store.close()
"""


def test_a_store_is_used_on_both_sides_of_a_fork(postgresql_url: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, postgresql_url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.ci
def test_a_server_in_recovery_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    with standby_server(tmp_path_factory) as url, pytest.raises(Unavailable, match="in recovery") as caught:
        open_postgresql(url)
    assert caught.value.kind is Kind.StoreReadOnly


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:s3cret@127.0.0.1:1/db?connect_timeout=2",
        "postgresql://127.0.0.1:1/db?password=s3cret&user=u",
        "postgresql://user:s3cret@/db?host=/nonexistent",
    ],
)
def test_an_unreachable_server(url: str) -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_postgresql(url)
    assert caught.value.kind is Kind.StoreUnreachable
    assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.details)


@pytest.mark.parametrize("url", ["postgresql://u:s3cret@host:port/db", "postgresql://u:s3cret@host/db?s3cret=1"])
def test_urls_that_libpq_does_not_know(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert "u:s3cret" not in "".join(traceback.format_exception(caught.value))


def test_urls(tmp_path: Path) -> None:
    target = parse_url(f"postgresql+psycopg://u:p@/db?host={tmp_path}&connect_timeout=3")
    given = psycopg.conninfo.conninfo_to_dict(target.conninfo)
    assert given["host"] == str(tmp_path)
    assert str(given["connect_timeout"]) == "3"
    assert given["application_name"] == "graveler"
    assert "p" not in target.shown.partition("://")[2].partition("@")[0]
    assert "target_session_attrs" not in given


def test_of_several_hosts_the_one_is_used_that_accepts_writes() -> None:
    for url, wanted in (("a,b/db", "read-write"), ("a,b/db?target_session_attrs=primary", "primary")):
        given = psycopg.conninfo.conninfo_to_dict(parse_url(f"postgresql://{url}").conninfo)
        assert (given["host"], given["target_session_attrs"]) == ("a,b", wanted)
