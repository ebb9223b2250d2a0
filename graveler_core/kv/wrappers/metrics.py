"""Wrapper of a key-value store that records Prometheus metrics.

`graveler_kv_seconds{verb}`            histogram: duration of calls in seconds
`graveler_kv_errors_total{verb, error, kind}`  counter: failed calls. `error` is the class of the error, for example
                                       `SlowDown`, `PredicateFailed` (a conflict) or `OutcomeUnknown` (a lost response)
`graveler_kv_keys_total{verb}`         counter: keys of calls that have more than one key

Each page of a scan counts as a call. Partitions and keys are not used as labels, because there are too many of them and
they may be confidential.
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
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")

_BUCKETS: Final = [unit / 10**power for power in range(5, -1, -1) for unit in (1, 2.5, 5)]
"""Bucket limits in seconds, from 10 µs (a read of an embedded store) to 5 s (an overloaded server)."""


@dataclass(frozen=True, slots=True)
class _Metrics:
    seconds: Histogram
    errors: Counter
    keys: Counter


_LOCK: Final = Lock()
_KNOWN: Final[WeakKeyDictionary[CollectorRegistry, _Metrics]] = WeakKeyDictionary()


class Metered(Passing):
    """Store that passes every call on and measures it. Stores with the same registry share their metrics."""

    def __init__(self, inner: Store, registry: CollectorRegistry = REGISTRY, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self._metrics = _metrics_of(registry)
        self._clock = clock or SystemClock()

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
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
    """Return the metrics of a registry. They are created once, because a registry refuses duplicate names."""
    with _LOCK:
        if registry not in _KNOWN:
            _KNOWN[registry] = _Metrics(
                Histogram(
                    "graveler_kv_seconds", "Calls of the key-value store", ["verb"], buckets=_BUCKETS, registry=registry
                ),
                Counter("graveler_kv_errors", "Calls that failed", ["verb", "error", "kind"], registry=registry),
                Counter("graveler_kv_keys", "Keys of calls that have more than one key", ["verb"], registry=registry),
            )
        return _KNOWN[registry]
