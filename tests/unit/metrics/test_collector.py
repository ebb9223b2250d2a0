"""Tests of a scrape: branches and their compactions, the maximum number of branches, and broken stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from graveler_core.engine.compacting.history import BranchCompactions
from graveler_core.errors import NoChanges, SlowDown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.metrics.collector import StoreCollector
from graveler_core.model.compaction import SECONDS, CompactionHistory, CompactionOutcome, CompactionRun
from graveler_core.model.entities import RepositoryState
from graveler_core.model.ids import BranchId, BranchUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.faulty_store import Faulty, Refuse
from tests.unit.engine.world import World

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scraped:
    """A store in memory, its handle, and the metrics of it."""

    def __init__(self, most: int = 1_000) -> None:
        self.world = World()
        self.kv = Faulty(Counting(self.world.kv), lambda call, number: None)
        self.time = 1_000.0
        self.graveler = Graveler(replace(self.world.stores(self.kv), wall=lambda: self.time))
        self.registry = CollectorRegistry()
        self.collector = StoreCollector(self.graveler, most)
        self.registry.register(self.collector)

    def repository(self, name: str, *branches: str) -> None:
        repo = self.graveler.create_repository(name, self.world.namespace(name))
        for branch in branches:
            repo.create_branch(branch, source="main")

    def remove(self, repo: str, branch: str, count: int) -> None:
        """Stage so many tombstones."""
        self.graveler.repository(repo).branch(branch).remove_many(f"gone/{number:05}" for number in range(count))

    def compact(self, repo: str, branch: str) -> None:
        self.graveler.repository(repo).branch(branch).compact()

    def samples(self) -> Samples:
        text = generate_latest(self.registry).decode()
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def of(self, metric: str, repo: str = "flights", branch: str = "main", **labels: str) -> float | None:
        where = {"repository": repo, "branch": branch, **labels}
        return self.samples().get((metric, frozenset(where.items())))

    def branches(self, metric: str) -> list[str]:
        return [
            f"{dict(labels)['repository']}/{dict(labels)['branch']}"
            for name, labels in self.samples()
            if name == metric
        ]


@pytest.fixture
def scraped() -> Scraped:
    made = Scraped()
    made.repository("flights", "dev")
    return made


def test_an_idle_store_is_up_and_has_nothing_to_tell(scraped: Scraped) -> None:
    assert scraped.samples() == {
        ("graveler_up", frozenset()): 1,
        ("graveler_branches_left_out", frozenset({("of", "staged")})): 0,
        ("graveler_branches_left_out", frozenset({("of", "compactions")})): 0,
    }


def test_what_is_staged(scraped: Scraped) -> None:
    scraped.remove("flights", "main", 12_000)
    scraped.remove("flights", "main", 500)
    scraped.time += 90
    assert scraped.of("graveler_branch_staged_records") == 12_500
    assert scraped.of("graveler_branch_staged_tombstones") == 12_500
    assert scraped.of("graveler_branch_sealed_layers") == 2
    assert scraped.of("graveler_branch_staged_age_seconds") == 90
    assert scraped.of("graveler_branch_pressure") == 1.25
    assert scraped.branches("graveler_branch_pressure") == ["flights/main"]


def test_what_compactions_did_stays_when_nothing_is_staged_any_more(scraped: Scraped) -> None:
    scraped.remove("flights", "main", 12_000)
    scraped.compact("flights", "main")
    with pytest.raises(NoChanges):
        scraped.compact("flights", "main")
    assert scraped.branches("graveler_branch_pressure") == []
    found = {
        outcome.value: scraped.of("graveler_compactions_total", outcome=outcome.value) for outcome in CompactionOutcome
    }
    assert found == {"compacted": 1, "nothing": 1, "busy": 0, "lost": 0, "failed": 0}


def test_durations_are_a_histogram_of_those_that_found_something_to_do(
    scraped: Scraped, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = CompactionHistory(uid=BranchUid("b"))
    for seconds, outcome in [
        (0.02, CompactionOutcome.COMPACTED),
        (2.0, CompactionOutcome.LOST),
        (1_000.0, CompactionOutcome.FAILED),
        (5.0, CompactionOutcome.NOTHING),
        (5.0, CompactionOutcome.BUSY),
    ]:
        history = history.with_run(
            CompactionRun(began=datetime(2026, 1, 1, tzinfo=UTC), seconds=seconds, outcome=outcome)
        )
    found = [BranchCompactions(BranchId("main"), history)]
    flights = SimpleNamespace(id="flights", state=RepositoryState.ACTIVE, compactions=lambda: found)
    monkeypatch.setattr(scraped.graveler, "list_repositories", lambda **_: [flights])
    name = "graveler_compaction_duration_seconds"
    buckets = [scraped.of(f"{name}_bucket", le=bound) for bound in [*map(str, SECONDS), "+Inf"]]
    assert buckets == [0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    assert scraped.of(f"{name}_count") == 3
    assert scraped.of(f"{name}_sum") == pytest.approx(1_002.02)
    assert scraped.of("graveler_compactions_total", outcome="busy") == 1


def test_many_branches_are_told_of_as_far_as_the_bound_goes() -> None:
    scraped = Scraped(most=2)
    scraped.repository("flights", "one", "two", "three")
    scraped.repository("weather")
    for count, branch in [(300, "one"), (900, "two"), (600, "three")]:
        scraped.remove("flights", branch, count)
    assert scraped.branches("graveler_branch_pressure") == ["flights/three", "flights/two"], "those under most pressure"
    left_out = "graveler_branches_left_out"
    assert scraped.samples()[left_out, frozenset({("of", "staged")})] == 1
    scraped.remove("weather", "main", 1_200)
    for branch in ("one", "two", "three"):
        scraped.compact("flights", branch)
    scraped.compact("weather", "main")
    assert scraped.samples()[left_out, frozenset({("of", "staged")})] == 0
    assert scraped.samples()[left_out, frozenset({("of", "compactions")})] == 2
    told = set(scraped.branches("graveler_compaction_duration_seconds_count"))
    assert told == {"flights/one", "flights/three"}, "the first, so that their counters go on"


@pytest.mark.parametrize("error", [Unavailable, SlowDown])
def test_a_store_that_cannot_be_read_is_down_and_a_later_scrape_tells_again(
    scraped: Scraped, error: type[Unavailable] | type[SlowDown]
) -> None:
    scraped.remove("flights", "main", 12_000)
    whole = scraped.samples()
    scraped.kv.plan = lambda call, number: Refuse(lambda: error("no"))
    assert scraped.samples() == {("graveler_up", frozenset()): 0}
    scraped.kv.plan = lambda call, number: None
    assert scraped.samples() == whole


def test_a_store_that_fails_half_way_is_down(scraped: Scraped) -> None:
    scraped.remove("flights", "main", 12_000)
    scraped.compact("flights", "main")
    scraped.remove("flights", "dev", 12_000)

    def only_histories(call: StoreCall, number: int) -> Refuse | None:
        return Refuse(lambda: Unavailable("gone")) if call.key.startswith(b"compactions/") else None

    scraped.kv.plan = only_histories
    assert scraped.samples() == {("graveler_up", frozenset()): 0}


def test_a_repository_that_is_deleted_during_a_scrape_is_left_out(
    scraped: Scraped, monkeypatch: pytest.MonkeyPatch
) -> None:
    scraped.repository("weather")
    for repo in ("flights", "weather"):
        scraped.remove(repo, "main", 10)
        scraped.compact(repo, "main")
    listed = scraped.graveler.list_repositories

    def then_deleted(**_: object) -> Iterator[object]:
        for repository in list(listed()):
            if repository.id == "flights":
                scraped.graveler.delete_repository("flights")
            yield repository

    monkeypatch.setattr(scraped.graveler, "list_repositories", then_deleted)
    assert scraped.branches("graveler_compaction_duration_seconds_count") == ["weather/main"]
    assert scraped.samples()["graveler_up", frozenset()] == 1


@pytest.mark.parametrize("damage", ["branch", "repository", "counter", "history"])
def test_a_damaged_record_hides_only_what_needs_it(scraped: Scraped, damage: str) -> None:
    scraped.repository("weather")
    for repo in ("flights", "weather"):
        scraped.remove(repo, "main", 300)
        scraped.compact(repo, "main")
        scraped.remove(repo, "main", 300)
    flights, main = scraped.graveler.repository("flights")._record, BranchId("main")
    counters = [name for name, _ in access.scan(scraped.kv, keys.COUNTS, prefix="flights/")]
    places: dict[str, Location[Any]] = {
        "branch": keys.branch(flights, main),
        "repository": keys.repository(flights.id),
        "counter": keys.COUNTS.at(counters[0]),
        "history": keys.compaction_history(flights, main),
    }
    where = places[damage]
    scraped.kv.set(where.partition, where.key, b"junk")
    assert scraped.samples()["graveler_up", frozenset()] == 1
    staged, compacted = {"flights/main", "weather/main"}, {"flights/main", "weather/main"}
    staged -= set() if damage == "history" else {"flights/main"}
    compacted -= set() if damage == "counter" else {"flights/main"}
    assert set(scraped.branches("graveler_branch_pressure")) == staged
    assert set(scraped.branches("graveler_compaction_duration_seconds_count")) == compacted


def test_registering_reads_nothing_and_names_every_metric(scraped: Scraped) -> None:
    scraped.remove("flights", "main", 10)
    scraped.compact("flights", "main")
    counting = scraped.kv.inner
    assert isinstance(counting, Counting)
    counting.reset()
    registry = CollectorRegistry()
    registry.register(scraped.collector)
    assert counting.round_trips == 0
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(StoreCollector(scraped.graveler))
    described = [(family.name, family.type, family.documentation) for family in scraped.collector.describe()]
    assert described == [(family.name, family.type, family.documentation) for family in scraped.collector.collect()]
    assert counting.round_trips > 0
