"""A store around a store that tells Prometheus what it does.

`graveler_kv_seconds{verb}`            histogram: how long calls took (its count is how many there were)
`graveler_kv_errors_total{verb, error, kind}`  counter: calls that failed. `error="SlowDown"` are slow-downs,
                                       `error="PredicateFailed"` conflicts, `error="OutcomeUnknown"` lost answers
`graveler_kv_keys_total{verb}`         counter: keys given to the verbs for many keys

A page of a scan is a call. No partition or key becomes a label: they are many, and may be secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from graveler_core.errors import GravelerError
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Call, Passing
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")

_BUCKETS: Final = [unit / 10**power for power in range(5, -1, -1) for unit in (1, 2.5, 5)]
"""Seconds, from 10 µs (a read of an embedded store) to 5 s (a server that hardly answers)."""


@dataclass(frozen=True, slots=True)
class _Metrics:
    seconds: Histogram
    errors: Counter
    keys: Counter


_LOCK: Final = Lock()
_KNOWN: Final[WeakKeyDictionary[CollectorRegistry, _Metrics]] = WeakKeyDictionary()


class Metered(Passing):
    """Passes every call on and measures it. Stores of one registry add up in the same metrics."""

    def __init__(self, inner: Store, registry: CollectorRegistry = REGISTRY, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self._metrics = _metrics_of(registry)
        self._clock = clock or SystemClock()

    def step(self, call: Call, work: Callable[[], T]) -> T:
        metrics, began = self._metrics, self._clock.monotonic()
        if call.rows != 1:
            metrics.keys.labels(call.verb).inc(call.rows)
        try:
            return work()
        except GravelerError as error:
            metrics.errors.labels(call.verb, type(error).__name__, error.kind.value).inc()
            raise
        finally:
            metrics.seconds.labels(call.verb).observe(self._clock.monotonic() - began)


def _metrics_of(registry: CollectorRegistry) -> _Metrics:
    """Made once a registry: a registry refuses a name that it knows."""
    with _LOCK:
        if registry not in _KNOWN:
            _KNOWN[registry] = _Metrics(
                Histogram(
                    "graveler_kv_seconds", "Calls of the key-value store", ["verb"], buckets=_BUCKETS, registry=registry
                ),
                Counter("graveler_kv_errors", "Calls that failed", ["verb", "error", "kind"], registry=registry),
                Counter("graveler_kv_keys", "Keys given to verbs for many keys", ["verb"], registry=registry),
            )
        return _KNOWN[registry]
