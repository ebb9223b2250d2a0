"""DataFrames of Spark: written by the workers, divided by SQL expressions, and shared with other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from dagster_graveler.beta import beta_accepted
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.resources.spark import local_pyspark
from dagster_graveler.runs import RANGE_END_TAG, RANGE_START_TAG
from dagster_graveler.testing import EphemeralLake, assert_content
from tests.dagster_graveler.io_managers.letters import DEV, Seen, loaded, metadata_of, paths, stored
from tests.dagster_graveler.io_managers.values import letters

LETTERS = dg.StaticPartitionsDefinition(["a", "b"])
DAYS = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2013-01-05")
BY_LETTER = {"partition_expr": "letter"}
INVALID = (dg.DagsterInvariantViolationError, dg.DagsterInvalidDefinitionError)


@pytest.fixture
def resources(graveler_lake: EphemeralLake) -> dict[str, Any]:
    return {"io_manager": GravelerIOManager(branch=graveler_lake.branch, pyspark=local_pyspark())}


def single_run(value: Any, definition: Any, metadata: dict[str, Any] | None = None) -> dg.AssetsDefinition:
    policy = dg.BackfillPolicy.single_run()
    with beta_accepted():
        return stored(lambda: value, partitions_def=definition, metadata=metadata, backfill_policy=policy)


def span(first: str, last: str) -> dict[str, str]:
    return {**DEV, RANGE_START_TAG: first, RANGE_END_TAG: last}


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def frame(spark: SparkSession, *rows: tuple[Any, ...], schema: str = "letter STRING, n LONG") -> DataFrame:
    return spark.createDataFrame(list(rows), schema)


def test_a_frame_is_a_table_that_other_libraries_load(
    spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]
) -> None:
    made = frame(spark, ("a", 1), ("b", 2)).coalesce(1)
    for type_ in (DataFrame, pd.DataFrame):
        seen: Seen = []
        assets = [stored(lambda: made), loaded(seen, type_, {"columns": ["n"]})]
        result = graveler_lake.materialize(assets, resources=resources, tags=DEV)
        value = spark.createDataFrame(seen[0]) if type_ is pd.DataFrame else seen[0]
        assert value.columns == ["n"]
        assert rows(value) == [(1,), (2,)]
    found = metadata_of(result)
    assert found["dagster/row_count"] == 2
    assert [(column.name, column.type) for column in found["dagster/column_schema"].columns] == [
        ("letter", "string"),
        ("n", "bigint"),
    ]
    assert found["files"] == 1
    assert found["bytes"] == next(iter(graveler_lake.repository.at("dev").list())).size
    assert paths(graveler_lake) == ["area/letters/part-00000.parquet"]


def test_a_table_of_another_library_is_loaded(
    spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]
) -> None:
    seen: Seen = []
    asset = single_run(letters(("a", 1), ("b", 2)), LETTERS, BY_LETTER)
    graveler_lake.materialize([asset], resources=resources, tags=span("a", "b"))
    down = loaded(seen, DataFrame)
    graveler_lake.materialize([asset, down], selection=[down], resources=resources, tags=DEV)
    assert rows(seen[0]) == [("a", 1), ("b", 2)]


def test_partitions_are_replaced_and_an_empty_one_keeps_its_columns(
    spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]
) -> None:
    seen: Seen = []
    for number in (1, 2):
        asset = single_run(frame(spark, ("a", number)), LETTERS, {"partition_expr": "lower(letter)"})
        result = graveler_lake.materialize([asset], resources=resources, tags=span("a", "b"))
    assert paths(graveler_lake) == [f"area/letters/partition={letter}/part-00000.parquet" for letter in "ab"]
    assert metadata_of_all(result) == {(1, 1)}
    down = loaded(seen, dict[str, DataFrame])
    graveler_lake.materialize([asset, down], selection=[down], resources=resources, tags=DEV)
    assert {key: rows(value) for key, value in seen[0].items()} == {"a": [("a", 2)], "b": []}
    assert seen[0]["b"].dtypes == [("letter", "string"), ("n", "bigint")]


def metadata_of_all(result: dg.ExecuteInProcessResult) -> set[tuple[Any, Any]]:
    return {
        (each.metadata["rows"].value, each.metadata["dagster/row_count"].value)
        for each in result.asset_materializations_for_node("area__letters")
    }


@pytest.mark.parametrize(
    ("schema", "times"),
    [
        ("at DATE", [date(2013, 1, 1), date(2013, 1, 2)]),
        ("at TIMESTAMP_NTZ", [datetime(2013, 1, 1, 23, 59), datetime(2013, 1, 2)]),
        ("at STRING", ["2013-01-01", "2013-01-02"]),
    ],
)
def test_time_windows_and_dimensions(
    spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any], schema: str, times: Sequence[Any]
) -> None:
    both = dg.MultiPartitionsDefinition({"letter": LETTERS, "day": DAYS})
    made = frame(spark, *(("a", time) for time in times), schema=f"letter STRING, {schema}")
    asset = single_run(made, both, {"partition_expr": {"letter": "letter", "day": "at"}})
    keys = [dg.MultiPartitionKey({"letter": "a", "day": f"2013-01-0{day}"}) for day in (1, 2)]
    graveler_lake.materialize([asset], resources=resources, tags=span(*keys))
    for day in (1, 2):
        assert_content(
            graveler_lake, "dev", f"area/letters/day=2013-01-0{day}/letter=a", [{"letter": "a", "at": times[day - 1]}]
        )


def test_a_row_outside_of_the_run_is_refused(
    spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]
) -> None:
    asset = single_run(frame(spark, ("a", 1), ("it's", 2)), LETTERS, BY_LETTER)
    message = (
        "asset area/letters: a row belongs to the partition \"it's\", which is none of the partitions .*: 'a', 'b'"
    )
    with pytest.raises(INVALID, match=message):
        graveler_lake.materialize([asset], resources=resources, tags=span("a", "b"))
    assert paths(graveler_lake) == []


def test_rows_are_appended(spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]) -> None:
    for number in (1, 2):
        made = frame(spark, ("a", number)).coalesce(1)
        asset = stored(lambda made=made: made, metadata={"mode": "append"})
        result = graveler_lake.materialize([asset], resources=resources, tags=DEV)
    assert metadata_of(result)["dagster/row_count"] == 2
    assert metadata_of(result)["files"] == 1
    assert_content(graveler_lake, "dev", "area/letters", [{"letter": "a", "n": 1}, {"letter": "a", "n": 2}])


def test_what_is_refused(spark: SparkSession, graveler_lake: EphemeralLake, resources: dict[str, Any]) -> None:
    made = frame(spark, ("a", 1))
    with pytest.raises(INVALID, match="has no column 'm'; columns are 'letter', 'n'"):
        graveler_lake.materialize(
            [stored(lambda: made), loaded([], DataFrame, {"columns": ["m"]})], resources=resources, tags=DEV
        )
    with pytest.raises(INVALID, match="needs the resource `pyspark`"):
        graveler_lake.materialize([stored(pa.table({"n": [1]})), loaded([], DataFrame)], tags=DEV)


FROM_FIVE = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2013-01-05", hour_offset=5)


@pytest.mark.parametrize(
    ("definition", "kind", "value", "keys"),
    [
        (FROM_FIVE, "DATE", date(2013, 1, 2), ("2013-01-02", "2013-01-03")),
        (FROM_FIVE, "TIMESTAMP_NTZ", None, ("2013-01-02", "2013-01-03")),
    ],
    ids=["before the time window", "no time"],
)
def test_a_row_that_only_looks_like_one_of_a_partition_is_refused_as_in_arrow(  # noqa: PLR0917 - fixtures
    spark: SparkSession,
    graveler_lake: EphemeralLake,
    resources: dict[str, Any],
    definition: Any,
    kind: str,
    value: Any,
    keys: tuple[str, str],
) -> None:
    made, shown = frame(spark, (value,), schema=f"k {kind}"), "null" if value is None else str(value)
    for rows_, message in ((made, f"the partition '{shown}'"), (made.toArrow(), f"a row with k = '?{shown}'?")):
        asset = single_run(rows_, definition, {"partition_expr": "k"})
        with pytest.raises(INVALID, match=message):
            graveler_lake.materialize([asset], resources=resources, tags=span(*keys))
        assert paths(graveler_lake) == []
