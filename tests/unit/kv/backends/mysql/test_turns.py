"""Turns of a MySQL database: one at a time over all sessions, and nobody for ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic

import pymysql
import pytest

from graveler_core.kv.backends.mysql.sessions import parse_url
from graveler_core.kv.backends.mysql.turns import NamedLockTurns, lock_name
from graveler_core.testing.lossy_network import Cut, lossy_network
from tests.servers.mariadb import execute
from tests.servers.process import ServerProcess

NAME = "repo/main"
PATIENCE = 60.0


@pytest.fixture
def handles(mysql_url: str) -> Iterator[list[NamedLockTurns]]:
    """As many as processes would have."""
    opened = [NamedLockTurns(parse_url(mysql_url)) for _ in range(2)]
    yield opened
    for turns in opened:
        turns.close()


def holder(mariadb: ServerProcess, url: str) -> object:
    """The session that has the turn."""
    [[found]] = execute(mariadb, f"SELECT is_used_lock('{lock_name(url.rpartition('/')[2], f'turn/{NAME}')}')")
    return found


def test_one_at_a_time(handles: list[NamedLockTurns]) -> None:
    order: list[str] = []
    entered = Event()

    def second() -> None:
        entered.set()
        with handles[1].turn(NAME, PATIENCE):
            order.append("second")

    with handles[0].turn(NAME, PATIENCE):
        waiting = Thread(target=second)
        waiting.start()
        entered.wait()
        with handles[1].turn("repo/other", PATIENCE), handles[1].turn(NAME, 0.02):
            order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_databases_do_not_wait_for_each_other() -> None:
    assert lock_name("a", "turn/b") != lock_name("b", "turn/b")
    assert len(lock_name("a" * 64, "turn/" + "b" * 1_000)) <= 64


def test_a_session_that_ends_leaves_its_turn(
    handles: list[NamedLockTurns], mariadb: ServerProcess, mysql_url: str
) -> None:
    with handles[0].turn(NAME, PATIENCE):
        execute(mariadb, f"KILL {holder(mariadb, mysql_url)}")
        with handles[1].turn(NAME, PATIENCE):
            other = holder(mariadb, mysql_url)
            assert other is not None
    assert holder(mariadb, mysql_url) is None
    with handles[0].turn(NAME, PATIENCE):
        assert holder(mariadb, mysql_url) not in (None, other)


def test_turns_take_few_sessions(handles: list[NamedLockTurns]) -> None:
    """Whoever finds none left goes on without a turn."""
    with ExitStack() as stack:
        for number in range(20):
            stack.enter_context(handles[0].turn(f"repo/{number}", PATIENCE))
        went_on = True
    assert went_on


def test_without_the_server_everybody_goes_on(mysql_url: str) -> None:
    gone = NamedLockTurns(parse_url("mysql://127.0.0.1:1/db"))
    closed = NamedLockTurns(parse_url(mysql_url))
    closed.close()
    with gone.turn(NAME, PATIENCE), closed.turn(NAME, PATIENCE):
        went_on = True
    gone.close()
    assert went_on


def test_what_fails_inside_gives_the_turn_back(
    handles: list[NamedLockTurns], mariadb: ServerProcess, mysql_url: str
) -> None:
    with pytest.raises(pymysql.Error), handles[0].turn(NAME, PATIENCE):
        raise pymysql.Error
    assert holder(mariadb, mysql_url) is None


def test_a_silent_connection_delays_nobody_for_long(mariadb: ServerProcess, mysql_url: str) -> None:
    """A read has no more time than any other one has, when the turn is taken and when it is given back."""
    with lossy_network(mariadb.port) as network:
        through = mysql_url.replace(f":{mariadb.port}/", f":{network.port}/")
        far = NamedLockTurns(parse_url(f"{through}?read_timeout=1"))
        for message in (1, 0):
            with far.turn(NAME, PATIENCE):
                pass
            began = monotonic()
            network.lose(Cut.SILENCE, message)
            with far.turn(NAME, PATIENCE):
                pass
            assert network.heal()
            assert monotonic() - began < 20
        far.close()
