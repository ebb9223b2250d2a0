"""Tests of the Prometheus metrics of a store."""

from __future__ import annotations

import pyarrow as pa
import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from graveler_core.errors import PredicateFailed, SlowDown
from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import EXISTS
from graveler_core.kv.wrappers.metrics import Metered
from graveler_core.testing.faulty_store import Delay, Faulty, Refuse
from tests.unit.kv.wrappers.still_clock import StillClock


def test_calls_and_their_latency() -> None:
    registry, clock = CollectorRegistry(), StillClock()
    store = Metered(Faulty(open_memory("memory://"), lambda call, number: Delay(0.25), clock), registry, clock)
    store.set(b"p", b"k", b"v")
    store.set(b"p", b"k", b"w")
    assert registry.get_sample_value("graveler_kv_seconds_count", {"verb": "set"}) == 2
    assert registry.get_sample_value("graveler_kv_seconds_sum", {"verb": "set"}) == 0.5
    assert registry.get_sample_value("graveler_kv_seconds_bucket", {"verb": "set", "le": "0.1"}) == 0
    assert registry.get_sample_value("graveler_kv_seconds_bucket", {"verb": "set", "le": "0.25"}) == 2
    assert registry.get_sample_value("graveler_kv_seconds_count", {"verb": "get"}) is None


def test_errors_by_verb_class_and_kind() -> None:
    registry = CollectorRegistry()
    faulty = Faulty(open_memory("memory://"), lambda call, number: None)
    store = Metered(faulty, registry)
    with pytest.raises(PredicateFailed):
        store.set_if(b"p", b"k", b"v", EXISTS)
    faulty.plan = lambda call, number: Refuse(lambda: SlowDown("later"))
    for _ in range(2):
        with pytest.raises(SlowDown):
            store.get(b"p", b"k")
    conflict = {"verb": "set_if", "error": "PredicateFailed", "kind": "PredicateFailed"}
    slow_down = {"verb": "get", "error": "SlowDown", "kind": "StoreBusy"}
    assert registry.get_sample_value("graveler_kv_errors_total", conflict) == 1
    assert registry.get_sample_value("graveler_kv_errors_total", slow_down) == 2
    assert registry.get_sample_value("graveler_kv_seconds_count", {"verb": "get"}) == 2


def test_pages_of_scans_are_calls_and_bulk_keys_are_counted() -> None:
    registry = CollectorRegistry()
    store = Metered(open_memory("memory://"), registry)
    bulk.load(store, b"p", pa.array([b"%05d" % number for number in range(1_500)]), pa.array([b"v"] * 1_500))
    bulk.get_many(store, [(b"p", b"00001"), (b"p", b"x")])
    assert len(list(store.scan(b"p"))) == 1_500
    assert registry.get_sample_value("graveler_kv_keys_total", {"verb": "load"}) == 1_500
    assert registry.get_sample_value("graveler_kv_keys_total", {"verb": "get_many"}) == 2
    assert registry.get_sample_value("graveler_kv_seconds_count", {"verb": "scan"}) == 2


def test_stores_of_one_registry_add_up_and_show_no_keys() -> None:
    registry = CollectorRegistry()
    for name in (b"s3cret-one", b"s3cret-two"):
        Metered(open_memory("memory://"), registry).get(name, name)
    assert registry.get_sample_value("graveler_kv_seconds_count", {"verb": "get"}) == 2
    assert b"s3cret" not in generate_latest(registry)


def test_the_default_is_the_registry_of_the_process() -> None:
    before = REGISTRY.get_sample_value("graveler_kv_seconds_count", {"verb": "split_points"}) or 0
    bulk.split_points(Metered(open_memory("memory://")), b"p", 2)
    assert REGISTRY.get_sample_value("graveler_kv_seconds_count", {"verb": "split_points"}) == before + 1
