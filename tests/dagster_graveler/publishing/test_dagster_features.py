"""Freshness policies and code references of Dagster on what `write_audit_publish` returns."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import TimeWindowFreshnessPolicyEvaluator
from dagster._core.loader import LoadingContextForTest
from dagster._core.test_utils import freeze_time

from tests.dagster_graveler.publishing import small_lake
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, PUBLISHED, TABLES

HOUR = 3600


def published_at(lake: Lake) -> float:
    event = lake.instance.get_latest_materialization_event(PUBLISHED)
    assert event is not None
    return event.timestamp


@pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.PreviewWarning")
def test_a_freshness_policy_of_the_published_branch_counts_publications_only(lake: Lake) -> None:
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=1))
    defs = lake.definitions.map_asset_specs(
        func=lambda spec: spec.replace_attributes(freshness_policy=policy) if spec.key == PUBLISHED else spec
    )
    node = defs.resolve_asset_graph().get(PUBLISHED)

    def state(now: float) -> FreshnessState:
        context = LoadingContextForTest(lake.instance)
        with freeze_time(now):
            return asyncio.run(TimeWindowFreshnessPolicyEvaluator().evaluate_freshness(context, node))

    assert not lake.run(raw=["bad"], tags={"graveler/branch": "refused"}).success
    assert state(time.time()) is FreshnessState.UNKNOWN
    assert lake.run().success
    first = published_at(lake)
    assert state(first + HOUR - 1) is FreshnessState.PASS
    assert state(first + HOUR + 1) is FreshnessState.FAIL
    assert lake.run(PUBLISH).success  # nothing to publish
    assert not lake.run(raw=["bad"], tags={"graveler/branch": "refused"}).success
    assert state(first + HOUR + 1) is FreshnessState.FAIL
    assert lake.run(raw=["new"]).success
    second = published_at(lake)
    assert second > first
    assert state(second + HOUR - 1) is FreshnessState.PASS


@pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning")
def test_code_references_lead_to_the_functions_of_the_tables(lake: Lake) -> None:
    referenced = dg.with_source_code_references(list(lake.definitions.assets or ()))
    tables = {table.key: table for table in referenced if isinstance(table, dg.AssetsDefinition)}
    lines = Path(small_lake.__file__).read_text().splitlines()
    for name in TABLES:
        key = dg.AssetKey(name)
        (reference,) = tables[key].metadata_by_key[key]["dagster/code_references"].code_references
        assert reference.file_path == small_lake.__file__
        assert f"def {name}(" in "".join(lines[reference.line_number - 1 : reference.line_number + 1])
