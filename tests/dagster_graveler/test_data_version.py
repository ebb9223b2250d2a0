"""The commits that Dagster knows branches by."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.data_version import observed_commits, reported_commit

KEY = dg.AssetKey(["flights", "main"])


def test_the_latest_report_counts() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert reported_commit(instance, KEY) is None
        for commit in ("one", "two"):
            instance.report_runless_asset_event(dg.AssetMaterialization(KEY, tags={"dagster/data_version": commit}))
        assert reported_commit(instance, KEY) == "two"


def test_a_materialization_without_data_version_names_no_commit() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.report_runless_asset_event(dg.AssetMaterialization(KEY))
        assert reported_commit(instance, KEY) is None


def test_of_many_branches_the_latest_observations_count() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert observed_commits(instance, KEY, []) == {}
        assert observed_commits(instance, KEY, ["main"]) == {}
        for branch, commit in [("main", "one"), ("dev", "two"), ("main", "three"), ("other", "four")]:
            tags = {"dagster/data_version": commit}
            instance.report_runless_asset_event(dg.AssetObservation(KEY, partition=branch, tags=tags))
        assert observed_commits(instance, KEY, ["main", "dev", "none"]) == {"main": "three", "dev": "two"}
