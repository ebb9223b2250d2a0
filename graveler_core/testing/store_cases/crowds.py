"""Tests with a hundred threads on one store, which are more than the connections that a store keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Final

from graveler_core.errors import SlowDown
from graveler_core.kv.store import EXISTS, Store
from graveler_core.testing.store_cases.values import predicate_of, refused, value_of

CROWD: Final = 100


class CrowdCases:
    """Tests of a crowd of writers. A store may ask them to slow down, as long as it has changed nothing."""

    def test_one_of_a_hundred_creators_wins(self, store: Store) -> None:
        won = crowd(lambda number: not refused(lambda: store.set_if(b"p", b"k", b"%d" % number, None)))
        assert won.count(True) == 1
        assert value_of(store, b"k") == b"%d" % won.index(True)

    def test_one_of_a_hundred_swappers_wins(self, store: Store) -> None:
        store.set(b"p", b"k", b"start")
        before = predicate_of(store, b"k")
        won = crowd(lambda number: not refused(lambda: store.set_if(b"p", b"k", b"%d" % number, before)))
        assert won.count(True) == 1
        assert value_of(store, b"k") == b"%d" % won.index(True)

    def test_one_of_a_hundred_deleters_wins(self, store: Store) -> None:
        store.set(b"p", b"k", b"start")
        won = crowd(lambda _: not refused(lambda: store.delete_if(b"p", b"k", EXISTS)))
        assert won.count(True) == 1
        assert store.get(b"p", b"k") is None

    def test_a_hundred_writers_lose_nothing(self, store: Store) -> None:
        def write(number: int) -> bool:
            store.set(b"p", b"%03d" % number, b"%d" % number)
            return value_of(store, b"%03d" % number) == b"%d" % number

        assert all(crowd(write))
        assert [row.key for row in store.scan(b"p")] == [b"%03d" % number for number in range(CROWD)]


def crowd(work: Callable[[int], bool]) -> list[bool]:
    """Run `work(0)`, `work(1)`, … in threads that start at the same moment. Return the results in this order."""
    ready = Barrier(CROWD)

    def run(number: int) -> bool:
        ready.wait()
        return _repeated(partial(work, number))

    with ThreadPoolExecutor(CROWD) as pool:
        return list(pool.map(run, range(CROWD)))


def _repeated(work: Callable[[], bool]) -> bool:
    """Repeat the work for as long as the store asks to slow down."""
    while True:
        try:
            return work()
        except SlowDown:
            time.sleep(0.01)
