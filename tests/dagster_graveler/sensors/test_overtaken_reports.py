"""Order of the reports about a published branch: a tick does not report a head that a run has overtaken."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from dagster_graveler.assets.branches import make_branches_asset
from dagster_graveler.data_version import reported_commit
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.sensors.conftest import Evaluate

MAIN = dg.AssetKey(["lake", "main"])
SENSOR = make_branch_heads_sensor(make_branches_asset("lake"), repository="lake", published={"main": MAIN})


@pytest.fixture
def lake(store: Graveler) -> Repository:
    return store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)


@pytest.mark.parametrize("moment", ["before the heads are read", "after the heads are read"])
def test_a_commit_that_a_run_reports_during_a_tick_stays_the_newest_report(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    first, commits, real = tick(SENSOR), list[str](), Repository.branches

    def publish() -> None:
        lake.branch("main").put("t/a", b"%d" % len(commits))
        commits.append(lake.branch("main").commit("publish").id)
        instance.report_runless_asset_event(dg.AssetMaterialization(MAIN, tags={"dagster/data_version": commits[-1]}))

    def branches(repository: Repository, *args: Any, **options: Any) -> Any:
        if moment.startswith("before"):
            publish()
            return real(repository, *args, **options)
        found = list(real(repository, *args, **options))
        publish()
        return found

    lake.branch("main").put("t/b", b"1")
    lake.branch("main").commit("by hand")
    monkeypatch.setattr(Repository, "branches", branches)
    second = tick(SENSOR, first.cursor)
    assert [type(event) for event in second.events] == [dg.AssetObservation]
    assert reported_commit(instance, MAIN) == commits[-1]
    monkeypatch.undo()
    tick(SENSOR, second.cursor)
    assert reported_commit(instance, MAIN) == commits[-1]
