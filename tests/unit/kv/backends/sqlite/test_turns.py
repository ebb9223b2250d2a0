"""Processes take turns at a file: one at a time, nobody twice before one who waits, and nobody for ever."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterator
from hashlib import blake2b
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread

import pytest

from graveler_core.kv.backends.sqlite.store import open_sqlite
from graveler_core.kv.backends.sqlite.turns import TurnFile
from graveler_core.stores import Turns
from graveler_core.wiring.handles import connect

NAME = "repo/main"
FILE = "meta.db-turns"
PATIENCE = 60.0
DOOR = 2 * int.from_bytes(blake2b(NAME.encode(), digest_size=7).digest(), "big")
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def take(path: Path, journal: Path, turns: int, ends: Connection) -> None:
    """A process that takes so many turns, writes down when each begins and ends, and waits for a word in the last."""
    file = TurnFile(path)
    ends.send("ready")
    for turn in range(turns):
        with file.turn(NAME, PATIENCE), journal.open("a") as lines:
            lines.write(f"{multiprocessing.current_process().name} begins\n")
            lines.flush()
            if turn + 1 == turns:
                ends.send("mine")
                ends.recv()
            lines.write(f"{multiprocessing.current_process().name} ends\n")


class Other:
    """Another process."""

    def __init__(self, directory: Path, turns: int = 1) -> None:
        self.ends, theirs = PROCESSES.Pipe()
        self.process = PROCESSES.Process(
            target=take, args=(directory / FILE, directory / "journal", turns, theirs), daemon=True
        )
        self.process.start()
        assert self.ends.recv() == "ready"

    def has_it(self) -> None:
        assert self.ends.recv() == "mine"

    def finish(self) -> None:
        self.has_it()
        self.give()

    def give(self) -> None:
        self.ends.send("give")
        self.process.join()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[TurnFile]:
    opened = TurnFile(tmp_path / FILE)
    yield opened
    opened.close()


def at_the_door(file: TurnFile) -> None:
    """Until another process waits for the turn that this one has."""
    while file._take(DOOR, 0, 0):
        file._give(DOOR)
        Event().wait(0.001)


def test_one_at_a_time(tmp_path: Path) -> None:
    others = [Other(tmp_path, turns=20) for _ in range(3)]
    threads = [Thread(target=other.finish) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "journal").read_text().splitlines()
    assert len(lines) == 120
    for begins, ends in zip(lines[::2], lines[1::2], strict=True):
        assert (begins.split()[0], begins.split()[1], ends.split()[1]) == (ends.split()[0], "begins", "ends")


def test_who_comes_again_at_once_stays_behind_who_waits(tmp_path: Path, file: TurnFile) -> None:
    order = []
    with file.turn(NAME, PATIENCE):
        other = Other(tmp_path)
        at_the_door(file)
        order.append("first")
        finishing = Thread(target=other.finish)
        finishing.start()
    with file.turn(NAME, PATIENCE):
        order.append((tmp_path / "journal").read_text().splitlines()[-1].split()[1])
    finishing.join()
    assert order == ["first", "ends"]


def test_a_process_that_dies_leaves_its_turn(tmp_path: Path, file: TurnFile) -> None:
    other = Other(tmp_path)
    other.has_it()
    assert not file._enter(DOOR, 0)
    other.process.kill()
    other.process.join()
    assert file._enter(DOOR, 0)


def test_one_that_stands_still_is_waited_for_no_longer_than_patience_lasts(tmp_path: Path, file: TurnFile) -> None:
    other = Other(tmp_path)
    other.has_it()
    with file.turn(NAME, 0.01):
        assert other.process.is_alive()
    with file.turn("repo/another", PATIENCE):
        assert other.process.is_alive()
    other.give()
    assert other.process.exitcode == 0


def test_without_the_file_everybody_goes_on(file: TurnFile) -> None:
    file.close()
    went_on = False
    with file.turn(NAME, PATIENCE):
        went_on = True
    assert went_on


def test_threads_queue_for_their_process(tmp_path: Path) -> None:
    """The first of them waits for the other process, and the others wait for the first."""
    store = open_sqlite(f"sqlite:///{tmp_path}/meta.db")
    turns, seen = Turns(store), []

    def body() -> None:
        with turns.turn("repo", "main"):
            seen.append((tmp_path / "journal").read_text().count("ends"))

    other = Other(tmp_path)
    other.has_it()
    threads = [Thread(target=body) for _ in range(3)]
    for thread in threads:
        thread.start()
    threads[0].join(0.05)
    other.give()
    for thread in threads:
        thread.join()
    store.close()
    assert seen == [1, 1, 1]


def test_the_processes_of_a_sqlite_file_have_one(tmp_path: Path) -> None:
    with connect(f"sqlite:///{tmp_path}/meta.db") as g:
        assert not (tmp_path / FILE).exists()
        main = g.create_repository("repo", "memory://turns/one", ephemeral=True).branch("main")
        main.put("x", b"1")
        main.commit("one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["meta.db", "meta.db-turns"]


def test_where_the_file_cannot_be_made_the_store_opens_all_the_same(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with connect(f"sqlite:///{tmp_path}/meta.db") as g:
        main = g.create_repository("repo", "memory://turns/data", ephemeral=True).branch("main")
        main.put("x", b"1")
        assert main.commit("one").parents


def test_a_file_that_nobody_closed_closes_itself(tmp_path: Path) -> None:
    """Without a complaint: whoever forgets to close a store loses nothing."""
    forgotten = TurnFile(tmp_path / FILE)
    inner = forgotten._opened()
    del forgotten
    gc.collect()
    assert inner.closed
