"""Tests that assign runs to publications."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

import dagster as dg
import pytest
from dagster._core.storage.tags import ASSET_RESUME_RETRY_TAG

from dagster_graveler.runs import origin_run_id, partition_label


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def record(
    instance: dg.DagsterInstance,
    parent: str | None = None,
    steps: list[str] | None = None,
    tags: dict[str, str] | None = None,
    *,
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.NOT_STARTED,
    assets: Iterable[str] = (),
) -> dg.DagsterRun:
    run = dg.DagsterRun(
        job_name="idle",
        run_id=str(uuid.uuid4()),
        parent_run_id=parent,
        root_run_id=parent,
        step_keys_to_execute=steps,
        tags=tags or {},
        status=status,
        asset_selection=frozenset(map(dg.AssetKey, assets)),
    )
    return instance.add_run(run)


def test_a_run_of_its_own_is_its_origin(instance: dg.DagsterInstance) -> None:
    run = record(instance)
    assert origin_run_id(instance, run) == run.run_id


def test_a_resumed_run_belongs_to_the_first_however_often_resumed(instance: dg.DagsterInstance) -> None:
    first = record(instance)
    second = record(instance, first.run_id, ["nothing"])
    third = record(instance, second.run_id, ["nothing"])
    assert origin_run_id(instance, second) == first.run_id
    assert origin_run_id(instance, third) == first.run_id


def test_a_re_execution_of_the_failed_assets_belongs_to_the_first(instance: dg.DagsterInstance) -> None:
    first = record(instance)
    second = record(instance, first.run_id, tags={ASSET_RESUME_RETRY_TAG: "true"})
    assert origin_run_id(instance, second) == first.run_id


@pytest.mark.parametrize(
    ("status", "assets", "resumes"),
    [
        (dg.DagsterRunStatus.SUCCESS, ("a", "b"), False),
        (dg.DagsterRunStatus.SUCCESS, ("b",), True),
        (dg.DagsterRunStatus.FAILURE, ("a", "b"), True),
    ],
)
def test_a_copied_tag_for_failed_assets_does_not_make_a_re_execution_of_everything_a_resumption(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus, assets: tuple[str, ...], resumes: bool
) -> None:
    tags = {ASSET_RESUME_RETRY_TAG: "true"}
    first = record(instance)
    second = record(instance, first.run_id, tags=tags, status=status, assets=("a", "b"))
    third = record(instance, second.run_id, tags=tags, assets=assets)
    assert origin_run_id(instance, third) == (first if resumes else third).run_id


def test_a_re_execution_of_everything_is_its_own_origin(instance: dg.DagsterInstance) -> None:
    first = record(instance)
    again = record(instance, first.run_id)
    resumed = record(instance, again.run_id, ["nothing"])
    assert origin_run_id(instance, again) == again.run_id
    assert origin_run_id(instance, resumed) == again.run_id


def test_a_parent_whose_record_is_gone_still_names_the_origin(instance: dg.DagsterInstance) -> None:
    first = record(instance)
    second = record(instance, first.run_id, ["nothing"])
    instance.delete_run(first.run_id)
    assert origin_run_id(instance, second) == first.run_id


@pytest.mark.parametrize(
    ("tags", "label"),
    [
        ({}, ""),
        ({"dagster/partition": "2013-04"}, "2013-04"),
        (
            {"dagster/asset_partition_range_start": "2013-01", "dagster/asset_partition_range_end": "2013-03"},
            "2013-01 to 2013-03",
        ),
        (
            {"dagster/asset_partition_range_start": "2013-01", "dagster/asset_partition_range_end": "2013-01"},
            "2013-01",
        ),
    ],
)
def test_partition_label(tags: dict[str, str], label: str) -> None:
    assert partition_label(dg.DagsterRun(job_name="idle", tags=tags)) == label
