"""The commit that Dagster knows a branch's asset by: the data version of its latest materialization."""

from __future__ import annotations

import dagster as dg

DATA_VERSION_TAG = "dagster/data_version"


def reported_commit(instance: dg.DagsterInstance, asset_key: dg.AssetKey) -> str | None:
    """The commit id last reported for the asset of a published branch; None if none ever was."""
    event = instance.get_latest_materialization_event(asset_key)
    materialization = event.asset_materialization if event else None
    return (materialization.tags or {}).get(DATA_VERSION_TAG) if materialization else None
