"""Tests with several threads on one store: one winner per swap, no lost updates, no stale or early reads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from threading import Barrier
from typing import TypeVar

from graveler_core.errors import PredicateFailed
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Predicate, Store
from graveler_core.testing.store_cases.values import predicate_of, refused, value_of

THREADS = 8

_T = TypeVar("_T")


class ThreadCases:
    """Tests of concurrency within one process."""

    def test_one_of_many_creators_wins(self, store: Store) -> None:
        for _ in range(5):
            won = together(partial(swapped, store, predicate=None))
            assert sum(won) == 1
            assert value_of(store, b"k") == b"%d" % won.index(True)
            store.delete(b"p", b"k")

    def test_one_of_many_swappers_wins(self, store: Store) -> None:
        for _ in range(5):
            store.set(b"p", b"k", b"start")
            won = together(partial(swapped, store, predicate=predicate_of(store, b"k")))
            assert sum(won) == 1
            assert value_of(store, b"k") == b"%d" % won.index(True)

    def test_one_of_swappers_and_deleters_wins(self, store: Store) -> None:
        for _ in range(5):
            store.set(b"p", b"k", b"start")
            won = together(partial(swapped_or_deleted, store, predicate=predicate_of(store, b"k")))
            assert sum(won) == 1
            winner = won.index(True)
            assert value_of(store, b"k") == (None if winner % 2 else b"%d" % winner)

    def test_counters_add_up(self, store: Store) -> None:
        store.set(b"p", b"k", b"0")

        def count(_: int) -> int:
            for _ in range(10):
                increment(store)
            return 10

        assert value_of(store, b"k") == b"0"
        assert sum(together(count)) == int(value_of(store, b"k") or b"")

    def test_present_keys_are_replaced_not_made(self, store: Store) -> None:
        """A swap with `EXISTS` that comes after the deletion fails, and does not create the key again."""
        for _ in range(5):
            store.set(b"p", b"k", b"start")

            def contend(number: int) -> bool:
                if number == 0:
                    store.delete(b"p", b"k")
                    return False
                return swapped(store, number, EXISTS)

            together(contend)
            assert store.get(b"p", b"k") is None

    def test_writers_of_different_keys_lose_nothing(self, store: Store) -> None:
        def write(number: int) -> None:
            for step in range(10):
                store.set(b"p", b"%d-%d" % (number, step), b"%d" % step)

        together(write)
        assert len(list(store.scan(b"p"))) == THREADS * 10

    def test_an_acknowledged_write_is_seen_by_all(self, store: Store) -> None:
        for number in range(10):
            store.set(b"p", b"k", b"%d" % number)
            assert set(together(lambda _: value_of(store, b"k"))) == {b"%d" % number}

    def test_atomic_bulk_writes_are_seen_whole(self, store: Store) -> None:
        """If a store declares atomic bulk writes, a later read never returns an older value than an earlier read."""
        bulk.set_many(store, [(b"p", b"a", b"%09d" % 0), (b"q", b"b", b"%09d" % 0)])

        def work(number: int) -> bool:
            if number == 0:
                for step in range(1, 60):
                    bulk.set_many(store, [(b"p", b"a", b"%09d" % step), (b"q", b"b", b"%09d" % step)])
                return True
            whole = True
            for step in range(60):
                order = [(b"p", b"a"), (b"q", b"b")][:: 1 if step % 2 else -1]
                earlier, later = (store.get(*place) for place in order)
                assert earlier is not None
                assert later is not None
                whole = whole and later.value >= earlier.value
            return whole

        assert all(together(work)) or not store.sets_atomically()

    def test_who_sees_a_swap_sees_what_was_written_with_it(self, store: Store) -> None:
        """Four of the threads swap one key, each with a key of its own. The others read until these have ended."""
        store.set(b"p", b"k", b"")
        swapping = THREADS // 2

        def swap(number: int) -> None:
            mine = b"%d" % number
            for _ in range(15):
                found = store.get(b"p", b"k")
                assert found is not None
                done = found.value.split()
                items = [(b"q", mine, b"%d" % (done.count(mine) + 1))]
                swapped = (b"p", b"k", b" ".join([*done, mine]))
                with suppress(PredicateFailed):
                    bulk.write_and_swap(store, items, swapped, found.predicate)
                    succeeded[number] += 1

        def work(number: int) -> bool:
            whole = True
            if number < swapping:
                try:
                    swap(number)
                finally:
                    ended.append(number)
                return whole
            for step in count():
                if step >= 30 and len(ended) == swapping:
                    return whole
                mine = b"%d" % (step % swapping)
                done = _words(store).count(mine)
                whole = whole and int(value_of(store, mine, b"q") or 0) >= done
            return whole

        succeeded = [0] * swapping
        ended = list[int]()
        assert all(together(work))
        done = _words(store)
        assert [done.count(b"%d" % number) for number in range(swapping)] == succeeded


def _words(store: Store) -> list[bytes]:
    return (value_of(store, b"k") or b"").split()


def together(work: Callable[[int], _T]) -> list[_T]:
    """Run `work(0)`, `work(1)`, … in threads that start at the same moment. Return the results in this order."""
    ready = Barrier(THREADS)

    def run(number: int) -> _T:
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def swapped(store: Store, number: int, predicate: Predicate | None) -> bool:
    """Swap the value to a number. Return true if the swap succeeded."""
    return not refused(lambda: store.set_if(b"p", b"k", b"%d" % number, predicate))


def swapped_or_deleted(store: Store, number: int, predicate: Predicate) -> bool:
    """Swap the value for an even number, delete the key for an odd number. Return true if this succeeded."""
    if number % 2:
        return not refused(lambda: store.delete_if(b"p", b"k", predicate))
    return swapped(store, number, predicate)


def increment(store: Store) -> None:
    """Add one to the number at the key `k`. Retry after each lost swap."""
    while True:
        found = store.get(b"p", b"k")
        assert found is not None
        try:
            store.set_if(b"p", b"k", b"%d" % (int(found.value) + 1), found.predicate)
        except PredicateFailed:
            continue
        return
