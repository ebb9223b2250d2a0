"""Branches that a user has created and named in a run tag: runs work on them, and only people delete them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dagster_graveler.run_tags import BRANCH_TAG
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES
from tests.dagster_graveler.publishing.test_kept_branches import tick

DEVELOP = {BRANCH_TAG: "develop"}


@pytest.fixture
def developed(lake: Lake) -> Lake:
    """The lake after a publication, with a branch `develop` that no run has created."""
    assert lake.run().success
    lake.repository.create_branch("develop", source="main")
    return lake


def test_a_published_branch_of_a_user_stays(developed: Lake) -> None:
    assert developed.run(PUBLISH, tags=DEVELOP).success  # nothing to publish
    assert developed.branches() == ["develop"]
    assert developed.run(tags=DEVELOP, raw=["new"]).success
    assert developed.published("raw") == ["new"]
    assert developed.branches() == ["develop"]


def test_the_sensor_leaves_a_branch_of_a_user_alone(developed: Lake) -> None:
    developed.use(keep_for=timedelta(0))
    assert developed.run(*TABLES, tags=DEVELOP, raw=["new"]).success
    assert not tick(developed).run_requests
    developed.repository.branch("develop").put("notes", b"of another program")
    for _ in range(2):
        result = tick(developed)
        assert (result.run_requests or [], result.asset_events) == ([], [])
    assert developed.branches() == ["develop"]
    assert developed.published("raw") == ["raw row"]


def test_a_later_run_over_a_part_does_not_join_a_branch_of_a_user(developed: Lake) -> None:
    assert developed.run("raw", tags=DEVELOP, raw=["try"]).success
    assert developed.run("raw", PUBLISH, raw=["new"]).success
    assert developed.published("raw") == ["new"]
    assert developed.branches() == ["develop"]


def test_a_named_branch_that_a_run_has_created_is_published_and_deleted(lake: Lake) -> None:
    assert lake.run("raw", tags={BRANCH_TAG: "load"}).success
    assert lake.run("cleaned").success  # joins it
    assert lake.run("weather").success
    (request,) = tick(lake).run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == []
