"""The commits that Dagster knows branches by: the data versions of the latest events of their assets."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

DATA_VERSION_TAG = "dagster/data_version"


def reported_commit(instance: dg.DagsterInstance, asset_key: dg.AssetKey) -> str | None:
    """The commit id last reported for the asset of a published branch; None if none ever was."""
    event = instance.get_latest_materialization_event(asset_key)
    materialization = event.asset_materialization if event else None
    return (materialization.tags or {}).get(DATA_VERSION_TAG) if materialization else None


def observed_commits(instance: dg.DagsterInstance, asset_key: dg.AssetKey, branches: Sequence[str]) -> dict[str, str]:
    """The commit ids last observed of branches that are partitions of an asset, by branch; in one query."""
    if not branches:
        return {}
    # Of all that an instance offers, this alone answers for many partitions at once.
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        asset_key, dg.DagsterEventType.ASSET_OBSERVATION, [DATA_VERSION_TAG], asset_partitions=list(branches)
    )
    return {branch: of[DATA_VERSION_TAG] for branch, of in tags.items() if DATA_VERSION_TAG in of}
