"""Assertions for tests of pipelines: they pass for what they name, and say what they found instead."""

import dagster as dg
import pyarrow as pa
import pytest

from dagster_graveler.runs import run_metadata
from dagster_graveler.testing import EphemeralLake, assert_content, assert_kept, assert_published


@dg.asset
def table() -> pa.Table:
    return pa.table({"n": [1, 1, 2]})


def publish(lake: EphemeralLake) -> dg.ExecuteInProcessResult:
    """Run an asset that publishes the branch of its run."""

    @dg.asset(deps=[table], required_resource_keys={"branch"})
    def published(context: dg.AssetExecutionContext) -> None:
        branch = context.resources.branch
        metadata = run_metadata(context.op_execution_context)
        branch.open_for_writing().commit("table", metadata=metadata)
        branch.open_repository().merge(branch.name, into=branch.into, metadata=metadata)
        branch.open_repository().delete_branch(branch.name)

    return lake.materialize([table, published])


def test_a_published_run(graveler_lake: EphemeralLake) -> None:
    result = publish(graveler_lake)
    commit = assert_published(graveler_lake, result)
    assert commit == graveler_lake.repository.commit("main").id
    assert assert_published(graveler_lake, result.run_id) == commit
    with pytest.raises(AssertionError, match=f"run {result.run_id}: was published on branch 'main' in commit {commit}"):
        assert_kept(graveler_lake, result)


def test_a_run_whose_branch_is_kept(graveler_lake: EphemeralLake) -> None:
    result = graveler_lake.materialize([table])
    name = assert_kept(graveler_lake, result)
    assert name in {branch.id for branch in graveler_lake.repository.branches()}
    with pytest.raises(AssertionError, match="published nothing; branch 'main' has no commit of this run"):
        assert_published(graveler_lake, result)
    graveler_lake.repository.delete_branch(name)
    with pytest.raises(AssertionError, match=f"branch '{name}' is not kept"):
        assert_kept(graveler_lake, result)


def test_a_run_that_wrote_nothing(graveler_lake: EphemeralLake) -> None:
    @dg.asset
    def nothing() -> None:
        return None

    with pytest.raises(AssertionError, match="wrote no table"):
        assert_kept(graveler_lake, graveler_lake.materialize([nothing]))


def test_rows_are_compared_in_any_order_and_counted(graveler_lake: EphemeralLake) -> None:
    branch = assert_kept(graveler_lake, graveler_lake.materialize([table]))
    assert_content(graveler_lake, branch, "table", [{"n": 2}, {"n": 1}, {"n": 1}])
    with pytest.raises(AssertionError, match=r"misses the row \{'n': 3\}; it has 3 rows"):
        assert_content(graveler_lake, branch, "table", [{"n": 3}])
    with pytest.raises(AssertionError, match=r"has 1 row that is not expected: \[\{'n': 1\}\]"):
        assert_content(graveler_lake, branch, "table", [{"n": 2}, {"n": 1}])
    with pytest.raises(AssertionError, match="table 'tables' at 'main': has no files"):
        assert_content(graveler_lake, "main", "tables", [])


def test_bytes_are_compared(graveler_lake: EphemeralLake) -> None:
    graveler_lake.repository.branch("main").put("file", b"content")
    assert_content(graveler_lake, "main", "file", b"content")
    with pytest.raises(AssertionError, match="is b'content', expected b'other'"):
        assert_content(graveler_lake, "main", "file", b"other")
