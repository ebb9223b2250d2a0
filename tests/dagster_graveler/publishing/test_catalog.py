"""What Dagster's catalog shows of written and published tables."""

from __future__ import annotations

import dagster as dg

from tests.dagster_graveler.publishing.conftest import JANUARY, Lake
from tests.dagster_graveler.publishing.small_lake import MONTHS, PUBLISH, TABLES


def observations(lake: Lake, table: str) -> list[dg.AssetObservation]:
    records = lake.instance.fetch_observations(dg.AssetKey(table), limit=10).records
    found = (record.event_log_entry.asset_observation for record in records)
    return [observation for observation in found if observation is not None]


def test_a_written_table_is_unpublished_until_the_merge(lake: Lake) -> None:
    assert not lake.run(cleaned=["bad"]).success
    event = lake.instance.get_latest_materialization_event(dg.AssetKey("raw"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["graveler/state"].value == "unpublished"
    assert [event.asset_materialization.metadata["graveler/branch"].value] == lake.branches()
    assert observations(lake, "raw") == []


def test_a_published_table_is_observed_with_the_commit_as_its_data_version(lake: Lake) -> None:
    assert lake.run().success
    (observed,) = observations(lake, "raw")
    assert observed.partition == JANUARY
    assert observed.metadata["graveler/state"].value == "published"
    assert observed.tags["dagster/data_version"] == lake.history()[0]
    checked = lake.instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(dg.AssetKey("raw"), "good")]
    )
    (execution,) = checked.values()
    written = lake.instance.get_latest_materialization_event(dg.AssetKey("raw"))
    assert execution.event is not None
    assert execution.event.dagster_event is not None
    target = execution.event.dagster_event.asset_check_evaluation_data.target_materialization_data
    assert written is not None
    assert target is not None
    assert target.run_id == written.run_id  # the newest materialization is still the one that was checked


def test_only_changed_tables_are_observed(lake: Lake) -> None:
    assert lake.run().success
    assert lake.run("raw", dg.AssetKey(["lake", "main", "publish"]), raw=["new"]).success
    assert len(observations(lake, "raw")) == 2
    assert len(observations(lake, "weather")) == 1


def test_tables_without_partitions_are_observed_as_a_whole_in_a_run_with_partitions(lake: Lake) -> None:
    @dg.asset(partitions_def=MONTHS)
    def other() -> None:
        """Deliver nothing."""

    lake.use(partitioned=False)
    lake.definitions = dg.Definitions.merge(lake.definitions, dg.Definitions(assets=[other]))
    assert lake.run("other", *TABLES, PUBLISH, partition=JANUARY).success
    assert [observed.partition for observed in observations(lake, "raw")] == [None]
