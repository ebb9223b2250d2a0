"""Calls of hooks in the background: in order, not too many at once, and never awaited for ever."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from graveler_core.stores import HookCalls


@dataclass
class Hung:
    """A call that returns only when it is released."""

    begun: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        self.begun.set()
        self.released.wait()


@pytest.fixture
def hung() -> Iterator[Hung]:
    found = Hung()
    yield found
    found.released.set()


def noting(done: list[int], number: int) -> Callable[[], None]:
    return lambda: done.append(number)


def test_calls_are_made_in_order_and_an_error_ends_no_others() -> None:
    done = list[int]()
    calls = HookCalls()
    calls.start(noting(done, 1))
    calls.start(lambda: 1 / 0)
    calls.start(noting(done, 2))
    calls.close()
    assert done == [1, 2]


def test_calls_can_be_made_after_a_close() -> None:
    done = list[int]()
    calls = HookCalls()
    for number in (1, 2):
        calls.start(noting(done, number))
        calls.close()
    assert done == [1, 2]


def test_the_exit_of_the_process_closes_calls_once() -> None:
    calls = HookCalls()
    before = atexit._ncallbacks()
    for _ in range(5):
        done = threading.Event()
        calls.start(done.set)
        done.wait()
        while calls._thread is not None:
            threading.Event().wait(0.001)
    assert atexit._ncallbacks() == before + 1
    calls.close()


def test_a_call_that_never_returns_ends_close_and_leaves_out_what_waits(hung: Hung) -> None:
    done = list[int]()
    calls = HookCalls(patience=0)
    calls.start(hung)
    hung.begun.wait()
    calls.start(noting(done, 1))
    calls.close()
    assert not calls._waiting
    hung.released.set()
    assert not done


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_calls_wait_than_permitted(hung: Hung, most: int) -> None:
    done = list[int]()
    calls = HookCalls(most)
    calls.start(hung)
    hung.begun.wait()
    for number in range(5):
        calls.start(noting(done, number))
    hung.released.set()
    calls.close()
    assert done == list(range(most))
