"""Assets to and from tables: branch, partitions, replacement, what falls through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame, SparkSession

from graveler_core.facade.graveler import Graveler
from orchestration.io_managers.spark_table import SparkTableIOManager
from orchestration.local import Installation
from orchestration.resources.graveler import GravelerResource
from orchestration.resources.run_branch import RunBranch
from orchestration.resources.spark import local_pyspark

pytestmark = pytest.mark.xdist_group("spark")
LETTERS = dg.StaticPartitionsDefinition(["a", "b", "c"])
DEV = {"graveler/branch": "dev"}


@pytest.fixture
def resources(installation: Installation) -> dict[str, Any]:
    graveler = GravelerResource(url=installation.store)
    branch = RunBranch(graveler=graveler, repository="lake", storage_root=installation.data)
    return {"io_manager": SparkTableIOManager(branch=branch, pyspark=local_pyspark()), "branch": branch}


def table(spark: SparkSession, rows: Sequence[tuple[str, int]], **options: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["area", "letters"], **options)
    def letters() -> DataFrame:
        return spark.createDataFrame(rows, "letter STRING, n INT")

    return letters


def reader(seen: list[list[tuple[Any, ...]]], **options: Any) -> dg.AssetsDefinition:
    @dg.asset(ins={"letters": dg.AssetIn(["area", "letters"])}, **options)
    def read(letters: DataFrame) -> dg.MaterializeResult:
        seen.append(sorted(tuple(row) for row in letters.collect()))
        return dg.MaterializeResult()

    return read


def paths(graveler: Graveler, ref: str) -> list[str]:
    return [entry.path for entry in graveler.repository("lake").at(ref).list()]


def test_an_asset_is_a_table_on_the_branch_of_the_run(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    seen: list[list[tuple[Any, ...]]] = []
    assets = [table(spark, [("a", 1), ("b", 2)]), reader(seen)]
    result = dg.materialize(assets, instance=instance, resources=resources, tags=DEV)
    assert result.success
    assert seen == [[("a", 1), ("b", 2)]]
    assert all(path.startswith("area/letters/part-") for path in paths(graveler, "dev"))
    assert paths(graveler, "main") == []
    (materialization,) = result.asset_materializations_for_node("area__letters")
    assert materialization.metadata["dagster/row_count"].value == 2
    assert materialization.metadata["dagster/uri"].value == "graveler://lake/dev/area/letters"


def test_what_is_written_replaces_what_was_there(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    seen: list[list[tuple[Any, ...]]] = []
    many = [(letter, n) for letter in "abc" for n in range(5)]
    dg.materialize([table(spark, many)], instance=instance, resources=resources, tags=DEV)
    graveler.repository("lake").branch("dev").put("area/letters2/other", b"")
    dg.materialize([table(spark, [("z", 0)]), reader(seen)], instance=instance, resources=resources, tags=DEV)
    assert seen == [[("z", 0)]]
    assert "area/letters2/other" in paths(graveler, "dev")


def test_partitions_are_directories_each_replaced_alone(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    options = {"partitions_def": LETTERS, "metadata": {"partition_expr": "letter"}}
    seen: list[list[tuple[Any, ...]]] = []

    def write(letter: str, n: int) -> None:
        assets = [table(spark, [(letter, n)], **options), reader(seen, partitions_def=LETTERS)]
        dg.materialize(assets, instance=instance, resources=resources, tags=DEV, partition_key=letter)

    write("a", 1)
    write("b", 2)
    write("a", 3)
    assert seen == [[("a", 1)], [("b", 2)], [("a", 3)]]
    assert paths(graveler, "dev") == [f"area/letters/{letter}/part-00000.parquet" for letter in "ab"]
    dg.materialize(
        [table(spark, [], **options).to_source_assets()[0], reader(seen)],
        instance=instance,
        resources=resources,
        tags=DEV,
    )
    assert seen[-1] == [("a", 3), ("b", 2)]


def test_a_run_sees_what_its_parent_branch_has(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    dg.materialize([table(spark, [("a", 1)])], instance=instance, resources=resources, tags=DEV)
    repository = graveler.repository("lake")
    repository.branch("dev").commit("letters")
    repository.merge("dev", into="main")
    seen: list[list[tuple[Any, ...]]] = []
    letters = dg.AssetSpec(["area", "letters"])
    assert dg.materialize([letters, reader(seen)], instance=instance, resources=resources).success
    assert seen == [[("a", 1)]]
    assert {branch.id for branch in repository.branches()} == {"dev", "main"}


def test_a_partitioned_asset_must_say_how_its_rows_are_split(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance
) -> None:
    asset = table(spark, [("a", 1)], partitions_def=LETTERS)
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="partition_expr"):
        dg.materialize([asset], instance=instance, resources=resources, tags=DEV, partition_key="a")


def test_rows_of_another_partition_leave_the_table_as_it_was(
    spark: SparkSession, resources: dict[str, Any], instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    options = {"partitions_def": LETTERS, "metadata": {"partition_expr": "letter"}}
    good, bad = table(spark, [("a", 1)], **options), table(spark, [("b", 2)], **options)
    dg.materialize([good], instance=instance, resources=resources, tags=DEV, partition_key="a")
    before = paths(graveler, "dev")
    failed = dg.materialize(
        [bad], instance=instance, resources=resources, tags=DEV, partition_key="a", raise_on_error=False
    )
    assert not failed.success
    assert paths(graveler, "dev") == before
