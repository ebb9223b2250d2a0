"""The pipeline author's code location of the examples: it reads what was published, and publishes its own report."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation
from tests.orchestration.daily_table import publish_by_hand

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/author/definitions.py"
PUBLISHED = dg.AssetKey(["flights", "main"])
REPORT = "worst_days/part-00000.parquet"


@pytest.fixture
def author() -> dg.Definitions:
    spec = importlib.util.spec_from_file_location("author_definitions", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.defs, dg.Definitions)
    return module.defs


def run(author: dg.Definitions, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return author.resolve_job_def("reports__main__job").execute_in_process(instance=instance, raise_on_error=False)


def test_it_reads_the_reported_commit_although_main_moved_on_and_publishes(
    author: dg.Definitions, installation: Installation, instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    repository = graveler.create_repository("flights", f"{installation.data}/flights")
    told = publish_by_hand(repository, [float(n) for n in range(12)])
    instance.report_runless_asset_event(dg.AssetMaterialization(PUBLISHED, tags={"dagster/data_version": told}))
    publish_by_hand(repository, [999.0])

    result = run(author, instance)
    assert result.success
    (made,) = result.asset_materializations_for_node("worst_days")
    assert (made.tags or {})["dagster/input_data_version/flights/main"] == told
    (read,) = [event for event in result.get_asset_observation_events() if event.asset_key == PUBLISHED]
    assert read.asset_observation_data.asset_observation.metadata["commit"].value == told

    report = pl.read_parquet(io.BytesIO(graveler.repository("reports").at("main").read(REPORT)))
    assert report.height == 10
    assert report.row(0)[1:] == ("JFK", 1, 11.0, 5.0, 0.0)
    event = instance.get_latest_materialization_event(dg.AssetKey(["reports", "main"]))
    assert event is not None
    assert event.asset_materialization is not None
    assert (event.asset_materialization.tags or {})["dagster/data_version"] == graveler.repository("reports").commit(
        "main"
    ).id


def test_a_report_that_fails_its_check_is_not_published(
    author: dg.Definitions, installation: Installation, instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    repository = graveler.create_repository("flights", f"{installation.data}/flights")
    publish_by_hand(repository, [1.0])
    main = repository.branch("main")
    (file,) = main.list("daily_delays/")
    content = io.BytesIO()
    pl.read_parquet(io.BytesIO(main.read(file.path))).with_columns(flights=0).write_parquet(content)
    main.put(file.path, content.getvalue())
    main.commit("no flights are left")
    result = run(author, instance)
    assert not result.success
    assert [(each.check_name, each.passed) for each in result.get_asset_check_evaluations()] == [
        ("flights_left", False)
    ]
    assert list(graveler.repository("reports").at("main").list()) == []


def test_before_anything_is_published_it_says_so(author: dg.Definitions, instance: dg.DagsterInstance) -> None:
    result = run(author, instance)
    assert not result.success
    (failure,) = result.filter_events(lambda event: event.is_step_failure and event.step_key == "worst_days")
    assert "daily_delays" in str(failure.step_failure_data)
