"""Turns are taken first come, first served, and nobody waits for ever."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graveler_core.stores import Turns

BRANCH = ("repo", "main")


def waiting(turns: Turns, count: int) -> None:
    """Until so many threads wait for the branch's turn."""
    while len(turns._queues[BRANCH]) < count:
        threading.Event().wait(0.001)


def test_they_come_in_order() -> None:
    turns, order = Turns(), []

    def take(number: int) -> None:
        with turns.turn(*BRANCH):
            order.append(number)

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    with turns.turn(*BRANCH):
        for n, thread in enumerate(threads):
            thread.start()
            waiting(turns, n + 1)
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_one_at_a_time_and_branches_apart() -> None:
    turns, inside, most = Turns(), [0], [0]

    def take(_: int) -> None:
        with turns.turn(*BRANCH):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            with turns.turn("repo", "other"):
                inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(200)))
    assert most == [1]
    assert turns._queues == {}


def test_an_error_inside_passes_the_turn_on() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="inside"), turns.turn(*BRANCH):
        raise ValueError("inside")
    with turns.turn(*BRANCH):
        assert turns._queues[BRANCH] is not None


def test_patience_ends_and_the_turn_is_not_given_back_twice() -> None:
    turns = Turns(patience=0.01)
    went_on = threading.Event()

    def take() -> None:
        with turns.turn(*BRANCH):
            went_on.set()

    with turns.turn(*BRANCH):
        thread = threading.Thread(target=take)
        thread.start()
        assert went_on.wait(10)
        thread.join()
        assert BRANCH in turns._queues
    assert turns._queues == {}
