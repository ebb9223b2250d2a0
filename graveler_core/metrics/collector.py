"""Metrics of staged changes and compactions, read from the store through the façade at each scrape.

Nothing is remembered between two scrapes. Several servers can report on one store, and a restart loses nothing. The
number of branches is limited; omitted ones are counted. A branch or repository whose records cannot be read is left
out, and the record is logged. Branch names are labels, so everyone who may scrape can see
them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.errors import GravelerError, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.model.compaction import SECONDS, CompactionHistory, CompactionOutcome
from graveler_core.model.entities import RepositoryState
from graveler_core.telemetry.events import tell_damaged

MOST_BRANCHES = 1_000
"""Default number of branches in a scrape."""
_BRANCH = ("repository", "branch")


class StoreCollector(Collector):
    """Collector of a store. Register it with a `CollectorRegistry`, which may contain other metrics too."""

    def __init__(self, graveler: Graveler, most: int = MOST_BRANCHES) -> None:
        """Report the `most` branches with the highest pressure, and the compactions of as many branches."""
        self._graveler = graveler
        self._most = most

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without values, so that registering reads nothing."""
        yield _up()
        yield from _Staged().families()
        yield from _Compactions().families()
        yield _left_out()

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics. If the store cannot be read, yield only that fact."""
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
        """Add the branches with the highest pressure. Return the number of omitted ones."""
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
        """Add the first branches by name, so that their counters do not disappear. Return the number of omitted
        ones.
        """
        number = 0
        for repository in self._graveler.list_repositories(damaged=tell_damaged):
            if repository.state is RepositoryState.INCOMPLETE:
                continue
            with suppress(NotFound):  # the repository was deleted in the meantime
                for found in repository.compactions():
                    number += 1
                    if number <= self._most:
                        told.add([repository.id, found.branch], found.history)
        return max(0, number - self._most)


class _Staged:
    """Metrics of branches with many staged changes."""

    def __init__(self) -> None:
        self._records = _gauge("staged_records", "Number of counted staged records, including tombstones")
        self._tombstones = _gauge("staged_tombstones", "Number of counted staged tombstones")
        self._layers = _gauge("sealed_layers", "Number of sealed layers: sealed tokens, bulk writes, prefix operations")
        self._age = _gauge("staged_age_seconds", "Time since the oldest staged record was written")
        self._pressure = _gauge(
            "pressure", "Largest ratio of staged changes to a threshold; from 1 on, the branch should be compacted"
        )

    def add(self, found: BranchPressure) -> None:
        """Add one branch."""
        labels, load = [found.repository.id, found.branch.id], found.load
        self._records.add_metric(labels, load.staged)
        self._tombstones.add_metric(labels, load.tombstones)
        self._layers.add_metric(labels, load.layers)
        self._age.add_metric(labels, load.age.total_seconds())
        self._pressure.add_metric(labels, found.pressure.value)

    def families(self) -> Iterable[Metric]:
        """Return the metrics."""
        return (self._records, self._tombstones, self._layers, self._age, self._pressure)


class _Compactions:
    """Metrics of branches that were compacted."""

    def __init__(self) -> None:
        self._outcomes = CounterMetricFamily(
            "graveler_compactions",
            "Number of compactions since the branch was created, by outcome",
            labels=[*_BRANCH, "outcome"],
        )
        self._seconds = HistogramMetricFamily(
            "graveler_compaction_duration_seconds",
            "Duration of compactions that had something to compact",
            labels=_BRANCH,
        )

    def add(self, labels: list[str], history: CompactionHistory) -> None:
        """Add one branch."""
        for outcome in CompactionOutcome:
            self._outcomes.add_metric([*labels, outcome.value], history.outcomes.get(outcome, 0))
        took = sum(count for outcome, count in history.outcomes.items() if outcome.takes_time)
        buckets = [(str(bound), float(count)) for bound, count in zip(SECONDS, history.at_most, strict=True)]
        self._seconds.add_metric(labels, [*buckets, ("+Inf", took)], history.seconds)

    def families(self) -> Iterable[Metric]:
        """Return the metrics."""
        return (self._outcomes, self._seconds)


def _up() -> GaugeMetricFamily:
    return GaugeMetricFamily("graveler_up", "1 if the store could be read, else 0; at 0 no other metric is reported")


def _left_out() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "graveler_branches_left_out", "Number of branches omitted from this scrape because of the limit", labels=["of"]
    )


def _gauge(name: str, documentation: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"graveler_branch_{name}", documentation, labels=_BRANCH)
