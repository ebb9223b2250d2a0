"""Tests of the counts of calls and of round trips."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa
import pytest

from graveler_core.errors import PredicateFailed
from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import EXISTS
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.plain_store import PlainStore


def test_each_verb_is_one_round_trip() -> None:
    store = Counting(open_memory("memory://"))
    store.set(b"p", b"k", b"v")
    store.get(b"p", b"k")
    store.set_if(b"p", b"k", b"w", EXISTS)
    store.delete_if(b"p", b"k", EXISTS)
    store.delete(b"p", b"k")
    assert store.counts == dict.fromkeys(("set", "get", "set_if", "delete_if", "delete"), 1)
    assert store.round_trips == 5


def test_a_lost_swap_is_counted() -> None:
    store = Counting(open_memory("memory://"))
    with pytest.raises(PredicateFailed):
        store.set_if(b"p", b"k", b"w", EXISTS)
    assert store.counts["set_if"] == store.round_trips == 1


def test_reset() -> None:
    store = Counting(open_memory("memory://"))
    store.get(b"p", b"k")
    store.reset()
    assert (store.round_trips, sum(store.counts.values())) == (0, 0)


def test_scans_count_the_pages_that_are_read() -> None:
    store = Counting(open_memory("memory://"))
    keys = [b"%05d" % number for number in range(11_500)]
    bulk.load(store, b"p", pa.array(keys), pa.array([b"v"] * len(keys)))
    assert store.round_trips == 3
    for rows, waits in ((0, 0), (1, 1), (1_000, 1), (1_001, 2), (11_001, 3)):
        store.reset()
        assert len(list(islice(store.scan(b"p"), rows))) == rows
        assert (store.counts["scan"], store.round_trips) == (min(waits, 1), waits)
    store.reset()
    assert sum(batch.num_rows for batch in bulk.scan_arrow(store, b"p")) == 11_500
    assert store.round_trips == 2
    store.reset()
    assert bulk.drop_partition(store, b"p") == 11_500
    assert store.round_trips == 3
    store.reset()
    assert list(bulk.scan_arrow(store, b"p")) == list(store.scan(b"p")) == []
    assert store.round_trips == 2


def test_defaults_around_a_counter_count_each_call() -> None:
    counter = Counting(open_memory("memory://"))
    store = PlainStore(counter)
    bulk.set_many(store, [(b"p", b"a", b"1"), (b"p", b"b", b"2"), (b"q", b"a", b"3")])
    bulk.get_many(store, [(b"p", b"a"), (b"p", b"b")])
    assert bulk.drop_partition(store, b"p") == 2
    assert counter.counts == {"set": 3, "get": 2, "scan": 1, "delete": 2}
    assert counter.round_trips == 8
