"""Runs that other processes start: a backfill of the daemon, steps in processes of their own, and repeated runs.

The instance is on disk, where the log of each run is a database of its own.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.test_utils import create_test_daemon_workspace_context, instance_for_test
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration

from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.publishing import small_lake
from tests.dagster_graveler.publishing.lake_location import parallel_lake
from tests.dagster_graveler.publishing.small_lake import MONTHS, PUBLISH, TABLES

pytestmark = pytest.mark.ci

MODULE = "tests.dagster_graveler.publishing.lake_location"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graveler]:
    monkeypatch.setenv("LAKE_STORE", f"sqlite:///{tmp_path / 'meta.db'}")
    monkeypatch.setenv("LAKE_DATA", (tmp_path / "data").as_uri())
    monkeypatch.setattr(small_lake, "DELIVERED", {})
    with connect(f"sqlite:///{tmp_path / 'meta.db'}") as opened:
        yield opened


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with instance_for_test(synchronous_run_coordinator=True, synchronous_run_launcher=True) as made:
        yield made


def tables(store: Graveler) -> set[tuple[str, str]]:
    """Return tables and partitions on `main`."""
    found = (entry.path.split("/") for entry in store.repository("lake").at("main").list())
    return {(path[0], path[1]) for path in found}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # by the stopped code server
@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Function `AssetSelection.sources`:DeprecationWarning")  # by Dagster itself
def test_a_backfill_of_two_months_is_one_run_and_is_published(store: Graveler, instance: dg.DagsterInstance) -> None:
    months = list(MONTHS.get_partition_keys()[:2])
    with create_test_daemon_workspace_context(ModuleTarget(MODULE, None, None, "lake"), instance) as workspace:
        graph = workspace.create_request_context().asset_graph
        backfill = PartitionBackfill.from_asset_partitions(
            "both", graph, months, [*map(dg.AssetKey, TABLES), PUBLISH], time.time(), {}, instance, False, None,
            None, None,
        )  # fmt: skip
        instance.add_backfill(backfill)
        for _ in range(10):
            assert not any(execute_backfill_iteration(workspace, logging.getLogger("backfill")))
            found = instance.get_backfill("both")
            assert found is not None
            if found.status is not BulkActionStatus.REQUESTED:
                break
    gc.collect()  # warnings of the stopped code server belong to this test
    assert found.status is BulkActionStatus.COMPLETED_SUCCESS
    (run,) = instance.get_runs()
    assert run.is_success
    assert tables(store) == {(table, month) for table in TABLES for month in months}
    assert [branch.id for branch in store.repository("lake").branches()] == ["main"]


def parallel(instance: dg.DagsterInstance, resumes: str | None = None, steps: list[str] | None = None) -> str:
    """Run the group with one process for each step. Return the id of the run, which must succeed.

    The processes are spawned. A forkserver that another test has started in this process would give them the
    environment variables of that test.
    """
    options = dg.ReexecutionOptions(resumes, step_selection=steps) if resumes else None
    with dg.execute_job(
        dg.reconstructable(parallel_lake),
        instance,
        tags={"dagster/partition": "2013-01"},
        run_config={"execution": {"config": {"max_concurrent": 2}}},
        reexecution_options=options,
    ) as result:
        assert result.success
        return result.run_id


def test_steps_in_processes_of_their_own_use_one_branch_and_a_second_publication_says_so(
    store: Graveler, instance: dg.DagsterInstance
) -> None:
    first = parallel(instance)
    assert tables(store) == {(table, "2013-01") for table in TABLES}
    assert [branch.id for branch in store.repository("lake").branches()] == ["main"]
    commit = store.repository("lake").commit("main").id

    parallel(instance, first, ["lake__main.commit", "lake__main.publish"])
    event = instance.get_latest_materialization_event(PUBLISH)
    assert event is not None
    assert event.asset_materialization is not None
    shown = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert shown["graveler/state"] == "already published"
    assert shown["commit"] == commit
