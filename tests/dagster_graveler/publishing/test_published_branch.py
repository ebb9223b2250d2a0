"""The asset of the published branch: one materialization for each publication, and consumers that become stale."""

from typing import Any

import dagster as dg
import pytest
from dagster._core.asset_graph_view.asset_graph_view import AssetGraphView, TemporalContext
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._time import get_current_datetime

from dagster_graveler.publishing import published_branch
from graveler_core.errors import SlowDown
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.ids import CommitId
from graveler_core.records import layout as keys
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, PUBLISHED

FEBRUARY = "2013-02"


@dg.asset(deps=[PUBLISHED], automation_condition=dg.AutomationCondition.eager())
def report() -> None:
    """A consumer in another job, without partitions."""


def publications(lake: Lake) -> list[str]:
    """Return the data versions of the published branch, oldest first."""
    records = lake.instance.fetch_materializations(PUBLISHED, limit=100, ascending=True).records
    return [(record.asset_materialization.tags or {})["dagster/data_version"] for record in records]  # type: ignore[union-attr]


def test_each_publication_materializes_the_branch_once(lake: Lake) -> None:
    assert lake.run().success
    first = lake.repository.commit("main").id
    assert publications(lake) == [first]
    assert lake.run(PUBLISH, tags={}).success  # nothing to publish
    assert publications(lake) == [first]
    assert not lake.run(raw=["bad"], tags={"graveler/branch": "refused"}).success
    assert publications(lake) == [first]
    assert lake.run(partition=FEBRUARY).success
    assert publications(lake) == [first, lake.repository.commit("main").id]


def test_a_commit_that_was_reported_before_and_is_damaged_now_does_not_fail_later_publications(lake: Lake) -> None:
    for month in ("2013-01", FEBRUARY):
        assert lake.run(partition=month).success
    where = keys.commit(lake.repository._record, CommitId(lake.history()[1]))
    lake.repository._stores.kv.set(where.partition, where.key, b"damaged")
    assert lake.run(partition="2013-03").success
    assert publications(lake)[-1] == lake.repository.commit("main").id


def test_a_publication_that_was_overtaken_does_not_report_an_earlier_commit(lake: Lake) -> None:
    """The second publication is merged and reported between the merge of the first one and its report."""
    overtaking: list[bool] = []

    def overtake(at: Snapshot) -> dict[str, Any]:
        if not overtaking:
            overtaking.append(True)
            assert lake.run(partition=FEBRUARY).success
        return {}

    lake.use(show=overtake)
    assert lake.run().success
    assert len(lake.history()) == 3
    assert publications(lake) == [lake.history()[0]]


def test_a_later_commit_that_is_reported_at_the_same_moment_is_reported_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second publication is merged and reported after the first one has read what was reported."""
    real, overtaking = published_branch.published_commit, []

    def overtaken(*args: Any) -> str | None:
        found = real(*args)
        if not overtaking:
            overtaking.append(True)
            assert lake.run(partition=FEBRUARY).success
        return found

    monkeypatch.setattr(published_branch, "published_commit", overtaken)
    assert lake.run().success
    second, first, _ = lake.history()
    assert publications(lake) == [second, first, second]
    event = lake.instance.get_latest_materialization_event(PUBLISHED)
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["commit"].value == second


def test_a_repeated_step_does_not_report_an_earlier_commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second publication runs after the publish step of the first one broke, and before it is repeated."""
    real, broken = published_branch.published_commit, []

    def breaking(*args: Any) -> str | None:
        if not broken:
            broken.append(True)
            assert lake.run(partition=FEBRUARY).success
            raise SlowDown("busy")
        return real(*args)

    monkeypatch.setattr(published_branch, "published_commit", breaking)
    assert lake.run().success
    assert len(lake.history()) == 3
    assert publications(lake) == [lake.history()[0]]


def test_the_materialization_shows_the_publication(lake: Lake) -> None:
    lake.use(show=lambda at: {"files": len(list(at.list("raw/")))})
    assert lake.run().success
    event = lake.instance.get_latest_materialization_event(PUBLISHED)
    assert event is not None
    assert event.asset_materialization is not None
    shown = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert shown["files"] == 1
    assert shown["graveler/state"] == "published"
    assert "cleaned" in str(shown["verdict"])


def test_a_function_that_shows_nothing_but_an_error_does_not_fail_the_publication(lake: Lake) -> None:
    def plot(at: Snapshot) -> dict[str, Any]:
        raise ValueError("no rows")

    lake.use(show=plot)
    result = lake.run()
    assert result.success
    assert not result.filter_events(lambda event: event.event_type is dg.DagsterEventType.STEP_UP_FOR_RETRY)
    for key in (PUBLISH, PUBLISHED):
        event = lake.instance.get_latest_materialization_event(key)
        assert event is not None
        assert event.asset_materialization is not None
        shown = {name: value.value for name, value in event.asset_materialization.metadata.items()}
        assert shown["plot failed"] == "There is no plot, because the function plot failed with ValueError: no rows."
        assert shown["graveler/state"] == "published"


@pytest.mark.parametrize("partitioned", [True, False])
def test_a_consumer_becomes_stale_and_is_started_once_for_each_publication(lake: Lake, partitioned: bool) -> None:
    lake.use(partitioned=partitioned)
    first, second = ("2013-01", FEBRUARY) if partitioned else (None, None)
    defs = dg.Definitions.merge(lake.definitions, dg.Definitions(assets=[report]))
    cursors: list[Any] = [None]

    def started() -> int:
        selection = dg.AssetSelection.assets(report)
        result = dg.evaluate_automation_conditions(defs, lake.instance, selection, cursor=cursors[-1])
        cursors.append(result.cursor)
        return result.total_requested

    def consume() -> None:
        assert dg.materialize([report, dg.AssetSpec(PUBLISHED)], instance=lake.instance).success

    assert lake.run(partition=first).success
    started()
    consume()
    assert started() == 0
    assert not stale(defs, lake.instance)
    assert lake.run(PUBLISH, partition=first).success  # nothing to publish
    assert started() == 0
    assert not stale(defs, lake.instance)
    assert lake.run(partition=second, raw=["new"]).success
    assert stale(defs, lake.instance)
    assert started() == 1
    consume()
    assert started() == 0
    assert not stale(defs, lake.instance)


def stale(defs: dg.Definitions, instance: dg.DagsterInstance) -> bool:
    """Return true if Dagster's UI shows the consumer as stale."""
    graph = defs.resolve_asset_graph()
    now = TemporalContext(effective_dt=get_current_datetime(), last_event_id=None)
    view = AssetGraphView(temporal_context=now, instance=instance, asset_graph=graph)
    return CachingStaleStatusResolver(instance, graph, view).get_status(report.key) is StaleStatus.STALE
