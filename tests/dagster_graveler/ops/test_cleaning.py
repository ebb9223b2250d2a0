"""The cleaning job: one repository a step, what it removes, tells and leaves, and what it does with failures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
import time_machine

from dagster_graveler.jobs.cleaning import make_cleaning_job
from dagster_graveler.leftovers import CHECK, LEFTOVERS
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.engine.cleaning.work import CleaningCall
from graveler_core.errors import SlowDown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.records import layout as keys
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce


@pytest.fixture
def store(installation: Installation, graveler: Graveler) -> Graveler:
    """Two repositories deleted ten days ago, one just now, and one that is used."""
    with time_machine.travel(timedelta(days=-10), tick=True):
        for name in ("old-one", "old-two"):
            repo = graveler.create_repository(name, f"{installation.data}/{name}")
            repo.branch("main").put("a", b"1")
            graveler.delete_repository(name)
    for name in ("new", "used"):
        graveler.create_repository(name, f"{installation.data}/{name}")
    graveler.delete_repository("new")
    return graveler


def clean(instance: dg.DagsterInstance, **options: Any) -> dg.ExecuteInProcessResult:
    job = make_cleaning_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), **options)
    return ran(job, instance)


def steps(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.step_key or "" for event in result.all_events if event.is_step_success}


def checked(instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    key = dg.AssetCheckKey(LEFTOVERS, CHECK)
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert record.event is not None
    assert record.event.dagster_event is not None
    return record.event.dagster_event.asset_check_evaluation_data


def test_each_repository_is_emptied_in_a_step(instance: dg.DagsterInstance, store: Graveler) -> None:
    result = clean(instance)
    assert result.success
    assert steps(result) == {
        "find_deleted",
        "empty_repository[old_one]",
        "empty_repository[old_two]",
        "clean_rest",
    }
    one = dict(said(result, "empty_repository[old_one]"))
    assert one.pop("seconds") >= 0
    assert one.pop("removed rows") > 1
    assert {name: value for name, value in one.items() if value} == {
        "repository": "old-one",
        "removed repositories": 1,
        "removed layers": 1,
        "failures": "none",
    }
    assert said(result, "clean_rest")["removed repositories"] == 0
    assert [entry.repository.id for entry in store.deleted_repositories()] == ["new"]
    assert store.undelete_repository("new").branch("main").name == "main"


def test_what_is_left_is_told_of_the_asset(instance: dg.DagsterInstance, store: Graveler) -> None:
    clean(instance)
    (record,) = instance.fetch_materializations(LEFTOVERS, limit=5).records
    assert record.asset_materialization is not None
    values = {name: value.value for name, value in record.asset_materialization.metadata.items()}
    assert values.pop("days of the oldest") < 1
    assert values == {"deleted": 1, "purging": 0, "restoring": 0, "due": 0, "unreadable": 0, "failed": 0}
    assert checked(instance).passed


def test_a_second_run_finds_nothing(instance: dg.DagsterInstance, store: Graveler) -> None:
    clean(instance)
    result = clean(instance)
    assert result.success
    assert steps(result) == {"find_deleted", "clean_rest"}
    numbers = {name: value for name, value in said(result, "clean_rest").items() if name.startswith("removed")}
    assert not any(numbers.values())


def test_a_run_has_so_many_steps_at_most(instance: dg.DagsterInstance, store: Graveler) -> None:
    result = clean(instance, most=1)
    assert steps(result) == {"find_deleted", "empty_repository[old_one]", "clean_rest"}
    assert said(result, "clean_rest")["removed repositories"] == 1


def test_a_run_goes_on_in_calls_of_bounded_work(
    instance: dg.DagsterInstance, store: Graveler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dagster_graveler.ops.cleaning.CALL", 1)
    result = clean(instance)
    assert result.success
    assert said(result, "empty_repository[old_two]")["removed repositories"] == 1


def test_what_can_still_be_restored_is_left(instance: dg.DagsterInstance, store: Graveler) -> None:
    result = clean(instance, undelete_within=timedelta(days=30))
    assert steps(result) == {"find_deleted", "clean_rest"}
    assert said(result, "clean_rest")["left waiting"] == 3
    assert checked(instance).passed


@pytest.mark.parametrize("error", [SlowDown("busy"), Unavailable("away")], ids=lambda e: type(e).__name__)
def test_a_store_that_is_away_is_tried_again(
    instance: dg.DagsterInstance, store: Graveler, fail_once: FailOnce, error: Exception
) -> None:
    calls = fail_once(Graveler, "clean", error, after=True)
    result = clean(instance)
    assert result.success
    assert retried(result) == 1
    assert len(calls) == 4
    assert [entry.repository.id for entry in store.deleted_repositories()] == ["new"]


def test_what_cannot_be_removed_is_told_and_fails_the_check(
    instance: dg.DagsterInstance, store: Graveler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise Unavailable("the | disk is gone")

    monkeypatch.setattr(CleaningCall, "drop_layer", broken)
    result = clean(instance)
    assert result.success
    assert said(result, "empty_repository[old_one]")["failed"] == 1
    assert "the \\| disk is gone" in said(result, "empty_repository[old_one]")["failures"]
    check = checked(instance)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert check.metadata["failed"].value == 2


def test_a_damaged_entry_does_not_keep_the_others(instance: dg.DagsterInstance, store: Graveler) -> None:
    store._stores.kv.set(keys.DELETED, b"repo/aaa/1", b"damaged")
    result = clean(instance)
    assert result.success
    assert steps(result) == {"find_deleted", "empty_repository[old_one]", "empty_repository[old_two]", "clean_rest"}
    assert said(result, "clean_rest")["failed"] == 1
    assert checked(instance).metadata["unreadable"].value == 1
