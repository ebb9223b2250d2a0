"""Queues of the writers of a partition."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import pytest

from graveler_core.errors import SlowDown
from graveler_core.kv.backends.partition_queues import QUEUES, PartitionQueues

PLACE = ("store", b"p")


def test_writers_of_a_partition_come_one_after_another() -> None:
    queues, inside, most = PartitionQueues(), 0, 0

    def write(_: int) -> None:
        nonlocal inside, most
        with queues.turn(PLACE, 60):
            inside += 1
            most = max(most, inside)
            Event().wait(0.001)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert most == 1


def test_other_partitions_and_stores_go_on() -> None:
    """Two of them may share a queue, but not many."""
    queues = PartitionQueues()
    with queues.turn(PLACE, 1):
        entered = 0
        for place in [("store", b"%d" % number) for number in range(10)] + [(f"{n}", b"p") for n in range(10)]:
            with suppress(SlowDown), queues.turn(place, 0.01):
                entered += 1
    assert entered >= 16


def test_patience_ends_and_an_error_ends_a_turn() -> None:
    queues = PartitionQueues()
    with queues.turn(PLACE, 1), pytest.raises(SlowDown, match="store: other writers"), queues.turn(PLACE, 0.01):
        pass
    with pytest.raises(ZeroDivisionError), queues.turn(PLACE, 1):
        raise ZeroDivisionError
    with queues.turn(PLACE, 0.01):
        pass


def test_a_child_waits_for_no_thread_of_its_parent() -> None:
    with QUEUES.turn(PLACE, 1):
        child = os.fork()
        if not child:
            code = 1
            try:
                with QUEUES.turn(PLACE, 0.01):
                    code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
