"""The op that compacts a branch: what it changes, what it says of that, and what it does with each kind of failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.jobs.compaction import make_compaction_job
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.compaction_requests import OP
from graveler_core.errors import Conflict, CorruptData, Kind, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.staging import area
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce

PRESSURE = dg.AssetKey(["lake", "pressure"])
LOST = Conflict("its layers changed", kind=Kind.CompactionLost)


@pytest.fixture
def three(lake: Repository) -> Repository:
    main = lake.branch("main")
    for n in range(3):
        main.put(f"kept/{n}", b"1")
    main.commit("Three")
    return lake


@pytest.fixture
def main(three: Repository) -> Branch:
    """Two layers: 300 tombstones, one of which counts, and a new entry."""
    main = three.branch("main")
    main.remove_many(["kept/0", *(f"path/{n}" for n in range(299))])
    main.put("new", b"22")
    return main


def compact(instance: dg.DagsterInstance, branch: str = "main", **config: Any) -> dg.ExecuteInProcessResult:
    job = make_compaction_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")))
    told = {"repository": "lake", "branch": branch, **config}
    return ran(job, instance, {OP: told})


def measured(instance: dg.DagsterInstance) -> list[Mapping[str, Any]]:
    records = instance.fetch_materializations(PRESSURE, limit=10).records
    return [
        {name: value.value for name, value in record.asset_materialization.metadata.items()}
        for record in records
        if record.asset_materialization
    ]


def test_a_branch_is_compacted_and_says_what_changed(instance: dg.DagsterInstance, main: Branch) -> None:
    before = [entry.path for entry in main.list()]
    result = compact(instance)
    assert result.success
    record = main.record()
    assert not record.sealed_tokens
    assert [entry.path for entry in main.list()] == before == ["kept/1", "kept/2", "new"]

    values = dict(said(result))
    assert values.pop("seconds") >= 0
    assert values.pop("before and after").splitlines() == [
        "| | before | after |",
        "|---|---:|---:|",
        "| layers | 1 | 0 |",
        "| tombstones | 300 | 0 |",
        "| staged records | 300 | 0 |",
        "| pressure | 5% | 0% |",
    ]
    assert values == {
        "outcome": "compacted",
        "engine": "local",
        "layers compacted": 2,
        "records compacted": 301,
        "tombstones compacted": 300,
        "entries": 3,
        "bytes of the entries": 4,
        "added": 1,
        "changed": 0,
        "removed": 1,
        "metarange": record.compacted_metarange,
        "layers before": 1,
        "layers after": 0,
        "tombstones before": 300,
        "tombstones after": 0,
        "staged records before": 300,
        "staged records after": 0,
    }


def test_the_pressure_asset_shows_it(instance: dg.DagsterInstance, main: Branch) -> None:
    assert compact(instance).success
    (values,) = measured(instance)
    assert (values["pressure before"], values["pressure"]) == (0.05, 0.0)
    assert str(values["history"]).startswith("![highest pressure on a branch over time](data:image/png;base64,iVBOR")


def test_nothing_to_do_is_success_and_corrects_the_counters(
    instance: dg.DagsterInstance, three: Repository, graveler: Graveler
) -> None:
    main = three.branch("main")
    for n in range(1_024):
        main.remove(f"gone/{n}")
    area.drop(graveler._stores.kv, main.record().staging_token)  # what is counted is not there any more
    assert main.pressure().load.staged == 1_024
    result = compact(instance)
    assert result.success
    assert said(result)["outcome"] == "nothing to do"
    assert main.pressure().load.staged == 0
    assert not measured(instance)


def test_another_compaction_under_way_is_success(instance: dg.DagsterInstance, main: Branch) -> None:
    main.compact()
    main.put("more", b"1")
    staged = main.record().staging_token
    result = compact(instance, every_minutes=5)
    assert result.success
    values = said(result)
    assert values["outcome"] == "skipped"
    assert "a compaction began at" in values["why"]
    assert main.record().staging_token == staged
    assert said(compact(instance, every_minutes=0))["outcome"] == "compacted"


@pytest.mark.parametrize("error", [LOST, SlowDown("busy"), Unavailable("no store")], ids=["lost", "busy", "away"])
def test_what_may_succeed_later_is_tried_again(
    instance: dg.DagsterInstance, main: Branch, fail_once: FailOnce, error: Exception
) -> None:
    calls = fail_once(Branch, "compact", error)
    result = compact(instance)
    assert result.success
    assert len(calls) == 2
    assert retried(result) == said(result)["retries"] == 1
    assert said(result)["outcome"] == "compacted"


def test_its_own_first_attempt_is_no_reason_to_wait(
    instance: dg.DagsterInstance, main: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Branch.compact, []

    def interfered(branch: Branch, **how: Any) -> Any:
        calls.append(how)
        if len(calls) == 1:  # sealed, and then lost to a bulk write
            with monkeypatch.context() as torn:
                torn.setattr("graveler_core.engine.compacting.compaction._install", lambda *_: _raise(LOST))
                return real(branch, **how)
        return real(branch, **how)

    monkeypatch.setattr(Branch, "compact", interfered)
    result = compact(instance)
    assert said(result)["outcome"] == "compacted"
    assert [how["every"].total_seconds() for how in calls] == [300, 0]


def _raise(error: Exception) -> None:
    raise error


def test_what_is_hopeless_fails_at_once(instance: dg.DagsterInstance, main: Branch, fail_once: FailOnce) -> None:
    calls = fail_once(Branch, "compact", CorruptData("a range is broken"))
    result = compact(instance)
    assert not result.success
    assert len(calls) == 1
    assert retried(result) == 0


def test_a_branch_that_is_not_there_is_one_clear_failure(instance: dg.DagsterInstance, lake: Repository) -> None:
    result = compact(instance, "nowhere")
    assert not result.success
    assert retried(result) == 0
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    assert "nowhere" in str(failure.step_failure_data)


def test_a_commit_afterwards_has_the_right_content(
    instance: dg.DagsterInstance, lake: Repository, main: Branch
) -> None:
    assert compact(instance).success
    made = main.commit("After all")
    assert [entry.path for entry in lake.at(made.id).list()] == ["kept/1", "kept/2", "new"]
