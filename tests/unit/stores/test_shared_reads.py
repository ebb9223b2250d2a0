"""A read is shared only by requests that came before it began."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from graveler_core.stores import SharedReads

KEY = ("repo", "main")


class Register:
    """A register whose reads are slow: each waits to be let go, and then gives what it saw when it began."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)

    def fetch(self) -> int:
        seen = self.value
        self.reads += 1
        self.begun.release()
        assert self.let_go.acquire(timeout=10)
        return seen


def until(done: Callable[[], bool]) -> None:
    while not done():
        threading.Event().wait(0.001)


def test_a_lone_request_reads_at_once() -> None:
    reads = SharedReads[int]()
    assert [reads.read(*KEY, lambda n=n: n) for n in range(3)] == [0, 1, 2]
    assert reads._lines == {}


def test_the_read_in_flight_is_not_joined() -> None:
    reads, register = SharedReads[int](), Register()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(reads.read, *KEY, register.fetch)
        register.begun.acquire()
        register.value = 1
        second = pool.submit(reads.read, *KEY, register.fetch)
        until(lambda: reads._lines[KEY].waiting is not None)
        register.let_go.release(2)
        assert (first.result(10), second.result(10)) == (0, 1)


def test_those_who_wait_share_one_read() -> None:
    reads, register = SharedReads[int](), Register()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(reads.read, *KEY, register.fetch)
        register.begun.acquire()
        register.value = 1
        others: list[Future[int]] = [pool.submit(reads.read, *KEY, register.fetch) for _ in range(8)]
        until(lambda: pool._work_queue.empty() and reads._lines[KEY].waiting is not None)
        threading.Event().wait(0.05)
        register.let_go.release(9)
        assert first.result(10) == 0
        assert [other.result(10) for other in others] == [1] * 8
        assert register.reads <= 3
    assert reads._lines == {}


def test_errors_are_shared_too() -> None:
    reads = SharedReads[int]()

    def fail() -> int:
        raise ValueError("unreachable")

    with pytest.raises(ValueError, match="unreachable"):
        reads.read(*KEY, fail)
    assert reads.read(*KEY, lambda: 7) == 7


def test_an_interrupted_reader_leaves_nobody_waiting() -> None:
    reads, register = SharedReads[int](), Register()

    def interrupted() -> int:
        register.fetch()
        raise KeyboardInterrupt

    def first() -> None:
        with pytest.raises(KeyboardInterrupt):
            reads.read(*KEY, interrupted)

    with ThreadPoolExecutor(3) as pool:
        done = pool.submit(first)
        register.begun.acquire()
        second = pool.submit(reads.read, *KEY, lambda: 5)
        until(lambda: reads._lines[KEY].waiting is not None)
        register.let_go.release()
        done.result(10)
        assert second.result(10) == 5
