"""What is read from the event log about writes of several partitions."""

from __future__ import annotations

from typing import Any

import dagster as dg
import polars as pl

from dagster_graveler.beta import beta_accepted
from dagster_graveler.partition_directories import directory
from dagster_graveler.publishing.evidence import BranchIdentity, Evidence, gather
from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.runs import RANGE_END_TAG, RANGE_START_TAG
from dagster_graveler.testing import EphemeralLake

DAYS = dg.DailyPartitionsDefinition("2013-01-01", end_date="2013-02-20")
LETTERS = dg.StaticPartitionsDefinition(["a", "b"])


def days(partitions_def: Any, metadata: dict[str, Any], frame: pl.DataFrame) -> dg.AssetsDefinition:
    with beta_accepted():

        @dg.asset(partitions_def=partitions_def, metadata=metadata, backfill_policy=dg.BackfillPolicy.single_run())
        def days() -> pl.DataFrame:
            return frame

    return days


def replaced(lake: EphemeralLake, asset: dg.AssetsDefinition, first: str, last: str) -> tuple[list[str], set[int]]:
    """Return the prefixes that a run over a range replaced, and the sizes of what its events say about them."""
    tags = {"graveler/branch": "dev", RANGE_START_TAG: first, RANGE_END_TAG: last}
    result = lake.materialize([asset], tags=tags)
    events = result.asset_materializations_for_node("days")
    found = evidence(lake, asset).replaced_in([GroupTable(asset.key, "days")])
    return found, {len(str(each.metadata["graveler/replaced"].value)) for each in events}


def evidence(lake: EphemeralLake, asset: dg.AssetsDefinition) -> Evidence:
    """Return the evidence about the branch `dev`."""
    uid = str(lake.repository.branch("dev").record().uid)
    group = TableGroup(dg.AssetKey("lake"), (GroupTable(asset.key, "days"),))
    return gather(lake.instance, group, BranchIdentity("lake", "dev", uid))


def test_each_event_of_a_run_over_many_partitions_is_small_and_names_its_own(graveler_lake: EphemeralLake) -> None:
    keys = DAYS.get_partition_keys()
    assert len(keys) == 50
    asset = days(DAYS, {"partition_expr": "day"}, pl.DataFrame({"day": keys}))
    found, sizes = replaced(graveler_lake, asset, keys[0], keys[-1])
    assert found == [f"days/{directory(['day'], (key,))}" for key in keys]
    assert max(sizes) < 60


def test_several_dimensions(graveler_lake: EphemeralLake) -> None:
    both = dg.MultiPartitionsDefinition({"letter": LETTERS, "day": DAYS})
    frame = pl.DataFrame({"day": ["2013-01-01"], "letter": ["b"]})
    asset = days(both, {"partition_expr": {"day": "day", "letter": "letter"}}, frame)
    ends = [dg.MultiPartitionKey({"day": "2013-01-01", "letter": letter}) for letter in "ab"]
    found, _ = replaced(graveler_lake, asset, *ends)
    assert found == ["days/day=2013-01-01/letter=a/", "days/day=2013-01-01/letter=b/"]


def test_a_write_that_only_adds_files_tells_where(graveler_lake: EphemeralLake) -> None:
    asset = days(DAYS, {"mode": "append", "partition_expr": "day"}, pl.DataFrame({"day": ["2013-01-01"]}))
    graveler_lake.materialize([asset], partition_key="2013-01-01", tags={"graveler/branch": "dev"})
    found = evidence(graveler_lake, asset)
    assert found.replaced == {asset.key: set()}
    assert found.places == {asset.key: {"days/day=2013-01-01/"}}


def test_a_write_that_does_not_tell_where_may_be_anywhere_in_its_table(graveler_lake: EphemeralLake) -> None:
    metadata = {"graveler/replaced": dg.MetadataValue.json([])}
    asset = days(DAYS, {**metadata, "partition_expr": "day"}, pl.DataFrame({"day": ["2013-01-01"]}))
    graveler_lake.materialize([asset], partition_key="2013-01-01", tags={"graveler/branch": "dev"})
    assert evidence(graveler_lake, asset).places == {asset.key: {"days/"}}
