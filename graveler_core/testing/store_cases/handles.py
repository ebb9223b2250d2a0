"""Tests of several handles on the same data, and of closed handles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Store
from graveler_core.testing.store_cases.scans import fill
from graveler_core.testing.store_cases.values import refused, value_of


class HandleCases:
    """Tests of opening and closing, and of several handles."""

    def test_data_outlives_its_handle(self, opener: Callable[[], Store]) -> None:
        first = opener()
        first.set(b"p", b"k", b"v")
        predicate = first.set_if(b"p", b"empty", b"", None)
        first.set(b"p", b"gone", b"v")
        first.delete(b"p", b"gone")
        first.close()
        second = opener()
        assert [(row.key, row.value) for row in second.scan(b"p")] == [(b"empty", b""), (b"k", b"v")]
        second.set_if(b"p", b"empty", b"full", predicate)
        second.close()

    def test_handles_see_each_other_at_once(self, store: Store, opener: Callable[[], Store]) -> None:
        other = opener()
        for number in range(5):
            store.set(b"p", b"k", b"%d" % number)
            assert value_of(other, b"k") == b"%d" % number
            other.set(b"p", b"k", b"-%d" % number)
            assert value_of(store, b"k") == b"-%d" % number
        assert refused(lambda: other.set_if(b"p", b"k", b"v", None))
        other.delete(b"p", b"k")
        assert refused(lambda: store.set_if(b"p", b"k", b"v", EXISTS))
        other.close()

    def test_another_handle_writes_during_an_open_scan(
        self, store: Store, opener: Callable[[], Store], many: int
    ) -> None:
        fill(store, many)
        other = opener()
        rows = store.scan(b"p")
        next(rows)
        for number in range(3):
            other.set(b"p", b"k", b"%d" % number)
            assert value_of(store, b"k") == b"%d" % number
            next(rows)
        other.close()

    def test_an_open_scan_outlives_the_closing_of_others(self, store: Store, opener: Callable[[], Store]) -> None:
        store.set(b"p", b"k", b"v")
        opener().close()
        assert value_of(store, b"k") == b"v"

    def test_turns_stand_in_nobodys_way(self, store: Store, opener: Callable[[], Store]) -> None:
        """A caller goes on without its turn after a timeout, and if the store is closed."""
        other = opener()
        with store.turn("repo/main", 60.0), other.turn("repo/other", 60.0):
            store.set(b"p", b"k", b"1")
            with other.turn("repo/main", 0.02):
                other.set(b"p", b"k", b"2")
        other.close()
        with other.turn("repo/main", 60.0):
            assert value_of(store, b"k") == b"2"
        with store.turn("repo/main", 60.0):
            store.delete(b"p", b"k")

    def test_closed_stores_refuse(self, opener: Callable[[], Store]) -> None:
        closed = opener()
        closed.set(b"p", b"k", b"v")
        closed.close()
        closed.close()
        verbs: tuple[Callable[[], object], ...] = (
            lambda: closed.get(b"p", b"k"),
            lambda: closed.set(b"p", b"k", b"w"),
            lambda: closed.set_if(b"p", b"k", b"w", EXISTS),
            lambda: closed.delete(b"p", b"k"),
            lambda: closed.delete_if(b"p", b"k", EXISTS),
            lambda: list(closed.scan(b"p")),
            lambda: bulk.get_many(closed, [(b"p", b"k")]),
            lambda: bulk.set_many(closed, [(b"p", b"k", b"w")]),
            lambda: list(bulk.scan_arrow(closed, b"p")),
            lambda: bulk.drop_partition(closed, b"p"),
            lambda: bulk.split_points(closed, b"p", 2),
            lambda: bulk.about_rows(closed, b"p"),
        )
        for verb in verbs:
            with pytest.raises(Unavailable):
                verb()
        opened = opener()
        assert value_of(opened, b"k") == b"v"
        opened.close()
