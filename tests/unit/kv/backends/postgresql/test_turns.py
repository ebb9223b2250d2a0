"""Turns of a PostgreSQL database: one at a time over all sessions, in the order of coming, and nobody for ever."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.pool import PoolProxiedConnection

from graveler_core.kv.backends.postgresql.sessions import ConnectionTarget, Sessions, parse_url
from graveler_core.kv.backends.postgresql.turns import AdvisoryTurns

NAME = "repo/main"
PATIENCE = 60.0
LOCKS = (
    "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND application_name = %s AND granted = %s"
)


@pytest.fixture
def target(postgresql_url: str) -> ConnectionTarget:
    """With a name of its own: other tests take turns on the same server."""
    return parse_url(f"{postgresql_url}&application_name=turns-{uuid4().hex}")


@pytest.fixture
def handles(target: ConnectionTarget) -> Iterator[list[AdvisoryTurns]]:
    """As many as processes would have."""
    opened = [AdvisoryTurns(target) for _ in range(3)]
    yield opened
    for turns in opened:
        turns.close()


class Other:
    """One more that wants the turn: notes when it has it, and gives it back when told to."""

    def __init__(self, turns: AdvisoryTurns, order: list[str], name: str, patience: float = PATIENCE) -> None:
        self.told = Event()
        self.thread = Thread(target=self._take, args=(turns, order, name, patience))
        self.thread.start()

    def _take(self, turns: AdvisoryTurns, order: list[str], name: str, patience: float) -> None:
        with turns.turn(NAME, patience):
            order.append(name)
            self.told.wait()

    def end(self) -> None:
        self.told.set()
        self.thread.join()


def sessions(target: ConnectionTarget, *, granted: bool) -> list[int]:
    """The sessions of a target that have a turn, or wait for one."""
    name = conninfo_to_dict(target.conninfo)["application_name"]
    with target.connect(autocommit=True) as connection:
        return [pid for [pid] in connection.execute(LOCKS, (name, granted)).fetchall()]


def until_waiting(target: ConnectionTarget, count: int) -> None:
    while len(sessions(target, granted=False)) < count:
        Event().wait(0.005)


def test_first_come_first_served(target: ConnectionTarget, handles: list[AdvisoryTurns]) -> None:
    order: list[str] = []
    with handles[0].turn(NAME, PATIENCE):
        second = Other(handles[1], order, "second")
        until_waiting(target, 1)
        third = Other(handles[2], order, "third")
        until_waiting(target, 2)
        order.append("first")
    again = Other(handles[0], order, "again")
    until_waiting(target, 2)
    for other in (second, third, again):
        other.end()
    assert order == ["first", "second", "third", "again"]


def test_another_branch_waits_for_nobody(handles: list[AdvisoryTurns]) -> None:
    with handles[0].turn(NAME, PATIENCE), handles[1].turn("repo/other", PATIENCE):
        pass


def test_one_that_stands_still_is_waited_for_no_longer_than_patience_lasts(handles: list[AdvisoryTurns]) -> None:
    order: list[str] = []
    with handles[0].turn(NAME, PATIENCE):
        impatient = Other(handles[1], order, "went on", patience=0.02)
        impatient.end()
    assert order == ["went on"]
    with handles[1].turn(NAME, PATIENCE):
        pass


def test_a_session_that_ends_leaves_its_turn(target: ConnectionTarget, handles: list[AdvisoryTurns]) -> None:
    order: list[str] = []
    with handles[0].turn(NAME, PATIENCE):
        other = Other(handles[1], order, "other")
        until_waiting(target, 1)
        [holder] = sessions(target, granted=True)
        with target.connect(autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (holder,))
        other.end()
        order.append("went on")
    assert order == ["other", "went on"]
    with handles[0].turn(NAME, PATIENCE):
        assert len(sessions(target, granted=True)) == 1


def test_a_session_that_breaks_writes_nothing_to_the_log(
    handles: list[AdvisoryTurns], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost before the statements are sent, as after a restart of the server."""
    take = Sessions.take

    def broken(self: Sessions) -> PoolProxiedConnection:
        session = take(self)
        with socket.socket(fileno=os.dup(session.driver_connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
        return session

    monkeypatch.setattr(Sessions, "take", broken)
    with handles[0].turn(NAME, PATIENCE):
        assert not caplog.records


def test_turns_take_few_sessions(target: ConnectionTarget, handles: list[AdvisoryTurns]) -> None:
    """Whoever finds none left goes on without a turn."""
    with ExitStack() as stack:
        for number in range(20):
            stack.enter_context(handles[0].turn(f"repo/{number}", PATIENCE))
        assert len(sessions(target, granted=True)) == 8


def test_without_the_server_everybody_goes_on(target: ConnectionTarget) -> None:
    gone = AdvisoryTurns(ConnectionTarget("host=127.0.0.1 port=1 connect_timeout=1", "postgresql://gone"))
    closed = AdvisoryTurns(target)
    closed.close()
    with gone.turn(NAME, PATIENCE), closed.turn(NAME, PATIENCE):
        went_on = True
    gone.close()
    assert went_on


def test_what_fails_inside_gives_the_turn_back(handles: list[AdvisoryTurns]) -> None:
    with pytest.raises(psycopg.Error), handles[0].turn(NAME, PATIENCE):
        raise psycopg.Error
    with handles[1].turn(NAME, PATIENCE):
        pass
