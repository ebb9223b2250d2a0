"""Commits that Dagster knows of branches: the data versions of the latest events of their assets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

DATA_VERSION_TAG = "dagster/data_version"
_COMMIT = re.compile(r"[0-9a-f]{64}")


def reported_commit(instance: dg.DagsterInstance, asset_key: dg.AssetKey) -> str | None:
    """Return the commit id last reported for the asset of a published branch, or `None`."""
    event = instance.get_latest_materialization_event(asset_key)
    materialization = event.asset_materialization if event else None
    return (materialization.tags or {}).get(DATA_VERSION_TAG) if materialization else None


def observed_commits(instance: dg.DagsterInstance, asset_key: dg.AssetKey, branches: Sequence[str]) -> dict[str, str]:
    """Return the commit ids last observed of branches that are partitions of an asset, by branch, with one query."""
    if not branches:
        return {}
    # This is the only query of an instance that covers many partitions at once.
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        asset_key, dg.DagsterEventType.ASSET_OBSERVATION, [DATA_VERSION_TAG], asset_partitions=list(branches)
    )
    return {branch: of[DATA_VERSION_TAG] for branch, of in tags.items() if DATA_VERSION_TAG in of}


def published_commit(instance: dg.DagsterInstance, asset_key: dg.AssetKey, repository: Repository) -> str | None:
    """Return the commit last reported for an asset, or `None` if its data version is not a commit of the repository,
    or its commit is damaged.

    Dagster itself gives a data version to each materialization of other assets.
    """
    from graveler_core.errors import CorruptData, NotFound

    commit = reported_commit(instance, asset_key)
    if commit is None or not _COMMIT.fullmatch(commit):
        return None
    try:
        return repository.commit(commit).id
    except (CorruptData, NotFound):
        return None
