"""Branches that runs of former versions left: their tags name the publication without a repository."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dagster_graveler.publishing import branch_choice
from dagster_graveler.resources import graveler_branch
from dagster_graveler.run_tags import BRANCH_TAG, CREATED_TAG, PUBLISH_TAG
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES
from tests.dagster_graveler.publishing.test_kept_branches import tick


def formerly(lake: Lake, *assets: str, **options: Any) -> None:
    """Run some assets, or all of them, with the tags that former versions wrote."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch_choice, "publish_tag", lambda repository: PUBLISH_TAG)
        patch.setattr(graveler_branch, "created_mark", lambda repository, uid: {})
        lake.run(*assets, **options)
    (newest,) = lake.instance.get_runs(limit=1)
    assert newest.tags[PUBLISH_TAG] == "lake/main"
    assert not [tag for tag in newest.tags if tag.startswith((f"{PUBLISH_TAG}.", CREATED_TAG))]


def test_the_publish_asset_publishes_it(lake: Lake) -> None:
    formerly(lake, *TABLES)
    assert lake.run(PUBLISH).success
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == []


def test_a_repair_of_one_table_joins_it_and_marks_it_anew(lake: Lake) -> None:
    formerly(lake, cleaned=["bad"])
    (former,) = lake.branches()
    assert lake.run("cleaned").success
    assert lake.branches() == [former]
    (repair,) = lake.instance.get_runs(limit=1)
    assert repair.tags[f"{PUBLISH_TAG}.lake"] == "lake/main"
    assert repair.tags[f"{CREATED_TAG}.lake"] == lake.repository.branch(former).record().uid
    assert PUBLISH_TAG not in repair.tags
    assert lake.run(PUBLISH).success
    assert lake.published("weather") == ["weather row"]
    assert lake.branches() == []


def test_the_sensor_publishes_it(lake: Lake) -> None:
    formerly(lake, *TABLES)
    (request,) = tick(lake).run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == []


def test_the_sensor_reports_and_deletes_it(lake: Lake) -> None:
    lake.use(keep_for=timedelta(0))
    formerly(lake, cleaned=["bad"])
    assert len(tick(lake).asset_events) == 1
    assert "1 deleted" in str(tick(lake).skip_message)
    assert lake.branches() == []


def test_a_whole_run_that_opens_it_by_its_name_deletes_it_after_the_publication(lake: Lake) -> None:
    lake.use(template="{partition}")
    formerly(lake, cleaned=["bad"])
    assert lake.branches() == ["2013-01"]
    assert lake.run().success
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == []


def test_a_branch_that_a_run_tag_named_is_left_alone(lake: Lake) -> None:
    lake.use(keep_for=timedelta(0))
    formerly(lake, *TABLES, tags={BRANCH_TAG: "develop"})
    result = tick(lake)
    assert (result.run_requests or [], result.asset_events) == ([], [])
    assert lake.run(PUBLISH).success  # nothing to publish
    assert lake.branches() == ["develop"]
