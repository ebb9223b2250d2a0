"""Publications between the read and the write of a run: the update of neither run is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_graveler import GravelerIOManager, write_audit_publish
from dagster_graveler.run_tags import read_commit_tag
from dagster_graveler.testing import EphemeralLake
from tests.dagster_graveler.publishing.small_lake import failures

MAIN = dg.AssetKey(["lake", "main"])
TAG = read_commit_tag("lake", "main")


def publication(number: int, meanwhile: Callable[[], None] = lambda: None) -> list[Any]:
    """A table to which each run adds a row, in place of the former table, and its publication."""

    @dg.asset(group_name="numbers")
    def numbers(io_manager: dg.ResourceParam[GravelerIOManager]) -> pa.Table:
        before = io_manager.load_table("numbers", pa.Table)
        meanwhile()
        return pa.concat_tables([before, pa.table({"n": [number]})])

    return list(write_audit_publish(tables=[numbers], key=MAIN).assets or ())


def first(lake: EphemeralLake) -> str:
    """Publish a table with the number 1. Return the commit."""
    branch = lake.repository.create_branch("first", source="main")
    lake.materialize([dg.asset(name="numbers")(lambda: pa.table({"n": [1]}))], tags={"graveler/branch": "first"})
    branch.commit("first")
    return lake.repository.merge("first", into="main").id


def published(lake: EphemeralLake) -> list[int]:
    found: list[int] = GravelerIOManager(branch=lake.branch).load_table("numbers", pa.Table)["n"].to_pylist()
    return found


def run(lake: EphemeralLake, assets: list[Any], tags: Mapping[str, str] | None = None) -> dg.ExecuteInProcessResult:
    return lake.materialize(assets, tags=dict(tags or {}), raise_on_error=False)


def test_a_publication_between_read_and_write_is_a_conflict(graveler_lake: EphemeralLake) -> None:
    first(graveler_lake)
    result = run(graveler_lake, publication(3, lambda: publish_second(graveler_lake)))
    assert published(graveler_lake) == [1, 2]
    (said,) = failures(result)
    assert "another run published the same data meanwhile" in said
    assert run(graveler_lake, publication(3)).success
    assert published(graveler_lake) == [1, 2, 3]


def publish_second(lake: EphemeralLake) -> None:
    assert run(lake, publication(2)).success


def test_a_run_that_is_started_with_a_commit_begins_its_branch_there(graveler_lake: EphemeralLake) -> None:
    commit = first(graveler_lake)
    publish_second(graveler_lake)
    (said,) = failures(run(graveler_lake, publication(3), {TAG: commit}))
    assert "another run published the same data meanwhile" in said


def test_a_commit_that_is_not_published_is_only_read(graveler_lake: EphemeralLake) -> None:
    first(graveler_lake)
    trial = graveler_lake.repository.create_branch("trial", source="main")
    trial.put("other", b"not published")
    commit = trial.commit("trial").id
    assert run(graveler_lake, publication(2), {TAG: commit}).success
    assert published(graveler_lake) == [1, 2]
    assert [entry.path for entry in graveler_lake.repository.at("main").list()] == ["numbers/part-00000.parquet"]


@pytest.mark.parametrize("by", ["input", "load_table"])
def test_after_its_publication_a_run_reads_what_it_has_published(graveler_lake: EphemeralLake, by: str) -> None:
    """The run has kept the commit that it read before."""
    first(graveler_lake)
    seen: list[Any] = []

    @dg.asset(deps=[["lake", "main", "publish"]], ins={"numbers": dg.AssetIn("numbers")})
    def by_input(numbers: pa.Table) -> None:
        seen.append(numbers["n"].to_pylist())

    @dg.asset(deps=[["lake", "main", "publish"]])
    def by_load_table(io_manager: dg.ResourceParam[GravelerIOManager]) -> None:
        seen.append(io_manager.load_table("numbers", pa.Table)["n"].to_pylist())

    reader = {"input": by_input, "load_table": by_load_table}[by]
    assert run(graveler_lake, [*publication(2), reader]).success
    assert seen == [[1, 2]]
