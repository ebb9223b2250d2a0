"""The functions of `bulk` call the methods of the store once; what these do is tested by `StoreSuite`."""

from __future__ import annotations

import pyarrow as pa

from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.plain_store import PlainStore


def test_overrides_are_used() -> None:
    store = Counting(open_memory("memory://"))
    bulk.set_many(store, [(b"p", b"a", b"1"), (b"q", b"b", b"2")])
    bulk.get_many(store, [(b"p", b"a"), (b"q", b"b")])
    bulk.load(store, b"p", pa.array([b"c", b"d"]), pa.array([b"3", b"4"]))
    assert list(bulk.scan_arrow(store, b"p"))
    bulk.split_points(store, b"p", 2)
    assert bulk.about_rows(store, b"p") == 3
    bulk.drop_partition(store, b"p")
    verbs = {"set_many", "get_many", "load", "scan_arrow", "split_points", "about_rows", "drop_partition"}
    assert set(store.counts) == verbs
    assert store.round_trips == 7


def test_nothing_asked_costs_nothing() -> None:
    store = Counting(open_memory("memory://"))
    assert bulk.get_many(store, []) == []
    bulk.set_many(store, [])
    assert bulk.split_points(store, b"p", 1) == []
    assert store.round_trips == 0


def test_only_declared_atomicity_counts() -> None:
    store = open_memory("memory://")
    assert store.sets_atomically()
    assert Counting(store).sets_atomically()
    assert not PlainStore(store).sets_atomically()
    assert not Counting(PlainStore(store)).sets_atomically()


def test_a_page_of_large_values_ends_early() -> None:
    store = PlainStore(open_memory("memory://"))
    for number in range(90):
        store.set(b"p", b"%02d" % number, b"v" * 98_304)
    assert [batch.num_rows for batch in bulk.scan_arrow(store, b"p")] == [43, 43, 4]
