"""What is staged on branches and what compactions did, read from the store when Prometheus asks. Stands on the façade.

Nothing is remembered between two scrapes, so any number of servers may tell of one store, and a restart loses nothing.
How many branches are told of is bounded; what is left out is counted. Their names are labels, so whoever may scrape
may know them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from graveler_core.engine.pressure import BranchPressure
from graveler_core.errors import GravelerError, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.model.compaction import SECONDS, CompactionHistory, Outcome

MOST_BRANCHES = 1_000
"""As many branches as a scrape tells of, where nothing else is said."""
_BRANCH = ("repository", "branch")


class StoreCollector(Collector):
    """Tells of a store. To be registered with a `CollectorRegistry`, which may hold other metrics too."""

    def __init__(self, graveler: Graveler, most: int = MOST_BRANCHES) -> None:
        """Tell of the `most` branches under the greatest pressure, and of the compactions of as many branches."""
        self._graveler = graveler
        self._most = most

    def describe(self) -> Iterator[Metric]:
        """The metrics without values: registering reads nothing."""
        yield _up()
        yield from _Staged().families()
        yield from _Compactions().families()
        yield _left_out()

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; where the store cannot be read only that."""
        up, staged, compactions, left_out = _up(), _Staged(), _Compactions(), _left_out()
        try:
            left_out.add_metric(["staged"], self._staged(staged))
            left_out.add_metric(["compactions"], self._compactions(compactions))
        except GravelerError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from staged.families()
        yield from compactions.families()
        yield left_out

    def _staged(self, told: _Staged) -> int:
        """Tell of the branches under the greatest pressure; gives how many others there are."""
        worst: list[tuple[float, int, BranchPressure]] = []
        number = 0
        for number, found in enumerate(self._graveler.pressures(), 1):
            heapq.heappush(worst, (found.pressure.value, -number, found))
            if len(worst) > self._most:
                heapq.heappop(worst)
        for *_, found in sorted(worst, key=lambda each: -each[1]):
            told.add(found)
        return number - len(worst)

    def _compactions(self, told: _Compactions) -> int:
        """Tell of the first branches, so that their counters go on; gives how many others there are."""
        number = 0
        for repository in self._graveler.list_repositories():
            with suppress(NotFound):  # deleted meanwhile
                for found in repository.compactions():
                    number += 1
                    if number <= self._most:
                        told.add([repository.id, found.branch], found.history)
        return max(0, number - self._most)


class _Staged:
    """Of branches on which much is staged."""

    def __init__(self) -> None:
        self._records = _gauge("staged_records", "Staged records, tombstones included, as far as they were counted")
        self._tombstones = _gauge("staged_tombstones", "Staged tombstones, as far as they were counted")
        self._layers = _gauge("sealed_layers", "Sealed layers: former staging tokens, bulk writes, prefix operations")
        self._age = _gauge("staged_age_seconds", "Time since the oldest record was staged")
        self._pressure = _gauge("pressure", "The largest part of a threshold that is reached: 1 is too much")

    def add(self, found: BranchPressure) -> None:
        """One branch."""
        labels, load = [found.repository.id, found.branch.id], found.load
        self._records.add_metric(labels, load.staged)
        self._tombstones.add_metric(labels, load.tombstones)
        self._layers.add_metric(labels, load.layers)
        self._age.add_metric(labels, load.age.total_seconds())
        self._pressure.add_metric(labels, found.pressure.value)

    def families(self) -> Iterable[Metric]:
        """The metrics."""
        return (self._records, self._tombstones, self._layers, self._age, self._pressure)


class _Compactions:
    """Of branches that were compacted."""

    def __init__(self) -> None:
        self._outcomes = CounterMetricFamily(
            "graveler_compactions", "Compactions since the branch was created, by outcome", labels=[*_BRANCH, "outcome"]
        )
        self._seconds = HistogramMetricFamily(
            "graveler_compaction_duration_seconds",
            "How long compactions took that found something to do",
            labels=_BRANCH,
        )

    def add(self, labels: list[str], history: CompactionHistory) -> None:
        """One branch."""
        for outcome in Outcome:
            self._outcomes.add_metric([*labels, outcome.value], history.outcomes.get(outcome, 0))
        took = sum(count for outcome, count in history.outcomes.items() if outcome.takes_time)
        buckets = [(str(bound), float(count)) for bound, count in zip(SECONDS, history.at_most, strict=True)]
        self._seconds.add_metric(labels, [*buckets, ("+Inf", took)], history.seconds)

    def families(self) -> Iterable[Metric]:
        """The metrics."""
        return (self._outcomes, self._seconds)


def _up() -> GaugeMetricFamily:
    return GaugeMetricFamily("graveler_up", "Whether the store could be read: 0 or 1; at 0 there is nothing else")


def _left_out() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "graveler_branches_left_out", "Branches that this scrape does not tell of, for they are many", labels=["of"]
    )


def _gauge(name: str, documentation: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"graveler_branch_{name}", documentation, labels=_BRANCH)
