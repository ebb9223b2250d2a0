"""Compaction with nobody asking for it: the real daemon's sensors see the pressure, request runs, and ask again."""

from __future__ import annotations

import uuid

import dagster as dg
import pytest

from dagster_graveler.run_tags import COMPACTION_TAG
from graveler_core import Thresholds
from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation
from tests.orchestration.ui_server import Server, wait_until

pytestmark = pytest.mark.ci
TICKS = """{ sensorsOrError(repositorySelector: {
    repositoryName: "__repository__", repositoryLocationName: "graveler"}) {
    ... on Sensors { results { name sensorState { ticks(limit: 50) { status error { message } } } } } } }"""


def ended(instance: dg.DagsterInstance, tag: str, value: str) -> list[dg.DagsterRun]:
    """The compactions with a tag that have ended, newest first."""
    runs = instance.get_runs(dg.RunsFilter(job_name="compaction_job", tags={tag: value}))
    return [run for run in runs if run.is_finished]


def test_branches_are_compacted_and_failures_are_asked_for_again(
    installation: Installation, instance: dg.DagsterInstance, graveler: Graveler, server: Server
) -> None:
    lake = graveler.create_repository("lake", f"{installation.data}/lake")
    lake.set_thresholds(Thresholds(tombstones=1_000))
    main = lake.branch("main")
    paths = [f"path/{n:05}" for n in range(1_500)]
    for path in paths[:20]:
        main.put(path, b"1")
    main.commit("Twenty")
    main.put("kept", b"1")
    main.remove_many(paths)
    assert len(main.record().sealed_tokens) == 2

    # The sensor requests a run by itself, and the run compacts.
    wait_until(lambda: bool(ended(instance, "graveler/branch", "main")))
    (run,) = ended(instance, "graveler/branch", "main")
    assert run.is_success
    assert run.tags["dagster/sensor_name"] == "compaction"
    assert run.tags["graveler/why"] == "1,500 tombstones of 1,000"
    assert run.tags["dagster/run_key"] == f"{run.tags[COMPACTION_TAG]}/0"
    record = main.record()
    assert record.sealed_tokens == ()
    assert record.compacted_metarange is not None
    assert [entry.path for entry in main.list()] == ["kept"]
    assert [entry.path for entry in lake.at(main.commit("After all").id).list()] == ["kept"]
    made = instance.get_latest_materialization_event(dg.AssetKey(["lake", "pressure"]))
    assert made is not None
    assert made.asset_materialization is not None
    assert made.asset_materialization.metadata["pressure before"].value == 1.5

    # A run that broke is asked for again, with the next epoch, whatever the pressure.
    dev = lake.create_branch("dev", source="main")
    dev.put("new", b"1")
    broken = run.with_status(dg.DagsterRunStatus.NOT_STARTED).with_tags(
        {**run.tags, "graveler/branch": "dev", "graveler/uid": dev.record().uid, COMPACTION_TAG: "uid/dev/token"}
    )
    config = {"repository": "lake", "branch": "dev", "every_minutes": 5.0}
    broken = broken._replace(run_id=str(uuid.uuid4()), run_config={"ops": {"compact_branch": {"config": config}}})
    instance.run_storage.add_run(broken)
    instance.report_run_failed(broken, "the process is gone")
    wait_until(lambda: len(ended(instance, "graveler/branch", "dev")) == 2)
    again, _ = ended(instance, "graveler/branch", "dev")
    assert again.is_success
    assert again.tags["dagster/run_key"] == "uid/dev/token/1"
    assert again.tags["dagster/sensor_name"] == "compaction_failed"
    assert dev.record().compacted_metarange is not None

    ticks = {
        sensor["name"]: sensor["sensorState"]["ticks"] for sensor in server.ask(TICKS)["sensorsOrError"]["results"]
    }
    assert ticks.keys() == {
        *("flights_branches_moved", "flights__main__kept_branches"),
        *("compaction", "compaction_failed", "sealed_tokens", "leftovers"),
    }
    assert all(ticks.values())
    assert not [tick for of in ticks.values() for tick in of if tick["status"] == "FAILURE"]
