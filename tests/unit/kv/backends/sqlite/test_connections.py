"""Idle connections are reused, none stays open behind a closed store, and none crosses a fork."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from graveler_core.errors import Unavailable
from graveler_core.kv.backends.sqlite.connections import Connections


def pool(made: list[sqlite3.Connection]) -> Connections:
    def connect() -> sqlite3.Connection:
        made.append(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
        return made[-1]

    return Connections(connect, "kv.db")


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1").fetchall()
    except sqlite3.ProgrammingError:
        return False
    return True


def test_idle_connections_are_reused() -> None:
    made: list[sqlite3.Connection] = []
    connections = pool(made)
    first, second = connections.take(), connections.take()
    connections.give(first)
    assert connections.take() is first
    connections.give(second)
    connections.give(first)
    assert made == [first, second]
    connections.close()
    assert not any(map(is_open, made))


def test_a_half_done_transaction_is_rolled_back() -> None:
    connections = pool([])
    connection = connections.take()
    connection.execute("CREATE TABLE t(x)")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO t VALUES(1)")
    connections.give(connection)
    assert connections.take() is connection
    assert not connection.in_transaction
    assert connection.execute("SELECT * FROM t").fetchall() == []
    connections.give(connection)
    connections.close()


def test_a_connection_that_comes_back_late_is_closed() -> None:
    connections = pool([])
    connection = connections.take()
    connections.close()
    assert is_open(connection)
    connections.give(connection)
    assert not is_open(connection)
    with pytest.raises(Unavailable, match=r"kv\.db was closed"):
        connections.take()


def test_a_failed_connect_is_not_in_use() -> None:
    def connect() -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    connections = Connections(connect, "kv.db")
    with pytest.raises(sqlite3.OperationalError):
        connections.take()
    connections.before_fork()
    connections.after_fork()


def test_a_fork_waits_for_what_is_in_use_and_closes_all() -> None:
    made: list[sqlite3.Connection] = []
    connections = pool(made)
    idle, used = connections.take(), connections.take()
    connections.give(idle)
    waiting, forked = Event(), Event()

    def fork() -> None:
        waiting.set()
        connections.before_fork()
        forked.set()
        connections.after_fork()

    thread = Thread(target=fork)
    thread.start()
    waiting.wait()
    assert is_open(used)
    assert not forked.is_set()
    connections.give(used)
    thread.join()
    assert forked.is_set()
    assert not is_open(idle)
    assert not is_open(used)
    assert is_open(connections.take())


FORKED = """
import os, sys
from graveler_core.kv import open_store

store = open_store(f"sqlite:///{sys.argv[1]}")
store.set(b"p", b"parent", b"before")
scan = store.scan(b"p")
next(scan)
told, tell = os.pipe()
child = os.fork()
if child == 0:
    # The parent has closed its store: its locks are gone, and the child's own must hold.
    os.read(told, 1)
    other = open_store(f"sqlite:///{sys.argv[1]}")
    for number in range(50):
        store.set(b"p", b"child", b"%d" % number)
        assert other.get(b"p", b"child").value == b"%d" % number
    os._exit(0)
store.set(b"p", b"parent", b"after")
store.close()
os.write(tell, b".")
for number in range(20):
    again = open_store(f"sqlite:///{sys.argv[1]}")
    again.set(b"p", b"again", b"%d" % number)
    again.close()
_, status = os.waitpid(child, 0)
assert status == 0, status
rows = {row.key: row.value for row in open_store(f"sqlite:///{sys.argv[1]}").scan(b"p")}
assert rows == {b"parent": b"after", b"child": b"49", b"again": b"19"}, rows
"""


def test_a_store_is_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "kv.db")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
