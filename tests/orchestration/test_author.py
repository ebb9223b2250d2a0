"""The pipeline author's code location of the examples: it reads what was published, at the commit it was told of."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import dagster as dg
import pytest

from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation
from tests.orchestration.daily_table import publish_by_hand

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/author/definitions.py"
PUBLISHED = dg.AssetKey(["flights", "main"])


@pytest.fixture
def author() -> dg.Definitions:
    spec = importlib.util.spec_from_file_location("author_definitions", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.defs, dg.Definitions)
    return module.defs


def worst_days(author: dg.Definitions, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = author.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, raise_on_error=False)


def test_it_reads_the_reported_commit_although_main_moved_on(
    author: dg.Definitions, installation: Installation, instance: dg.DagsterInstance, graveler: Graveler
) -> None:
    repository = graveler.create_repository("flights", f"{installation.data}/flights")
    told = publish_by_hand(repository, [float(n) for n in range(12)])
    instance.report_runless_asset_event(dg.AssetMaterialization(PUBLISHED, tags={"dagster/data_version": told}))
    publish_by_hand(repository, [999.0])

    (made,) = worst_days(author, instance).asset_materializations_for_node("worst_days")
    assert made.metadata["commit"].value == told
    assert made.metadata["dagster/row_count"].value == 10
    first_row = str(made.metadata["worst days"].value).splitlines()[2]
    assert first_row == "| 2013-02-12 | JFK | 1 | 11.0 | 5.0 | 0.0 |"
    assert (made.tags or {})["dagster/input_data_version/flights/main"] == told


def test_before_anything_is_published_it_says_so(author: dg.Definitions, instance: dg.DagsterInstance) -> None:
    result = worst_days(author, instance)
    assert not result.success
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    assert "nothing is published yet" in str(failure.step_failure_data)
