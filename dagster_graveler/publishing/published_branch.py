"""Materializations of the asset of a published branch. The newest one names the latest of the reported commits.

Runs that publish at the same time may report their commits in another order than they merged them. Consumers read the
commit of the newest materialization, so this must not be an earlier commit than that of another materialization.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.data_version import DATA_VERSION_TAG, published_commit

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

_LATELY = 20
"""Number of the newest materializations, among which a later commit is looked for."""


def materialize_branch(
    context: dg.OpExecutionContext, repository: Repository, key: dg.AssetKey, commit: str, metadata: Mapping[str, Any]
) -> None:
    """Materialize a published branch with a commit, unless this commit or a later one was reported before.

    If another run reports a later commit meanwhile, its materialization is repeated.

    Args:
        context: Context of the op.
        repository: The repository.
        key: Asset of the published branch.
        commit: Id of the published commit.
        metadata: Metadata of the publication.
    """
    reported = published_commit(context.instance, key, repository)
    if reported is None or not _contains(repository, reported, commit):
        context.log_event(_materialization(key, commit, metadata))
    while (later := _hidden(context.instance, key, repository)) is not None:
        context.log_event(later)


def _materialization(key: dg.AssetKey, commit: str, metadata: Mapping[str, Any]) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        key, description=f"Published as commit {commit}", metadata=metadata, tags={DATA_VERSION_TAG: commit}
    )


def _hidden(instance: dg.DagsterInstance, key: dg.AssetKey, repository: Repository) -> dg.AssetMaterialization | None:
    """Return a repetition of the materialization with the latest commit, or `None` if that is the newest one."""
    metadata: dict[str, Mapping[str, Any]] = {}
    for record in instance.fetch_materializations(key, limit=_LATELY).records:  # the newest first
        made = record.asset_materialization
        commit = (made.tags or {}).get(DATA_VERSION_TAG) if made is not None else None
        if made is not None and commit is not None:
            metadata.setdefault(commit, made.metadata)
    newest = latest = next(iter(metadata), None)
    for commit in metadata:
        if latest is not None and _contains(repository, commit, latest):
            latest = commit
    return None if latest is None or latest == newest else _materialization(key, latest, metadata[latest])


def _contains(repository: Repository, commit: str, earlier: str) -> bool:
    """Return true if the history of a commit contains another one, or if both are equal."""
    from graveler_core.errors import CorruptData, InvalidInput, NotFound

    try:
        return repository.merge_base(commit, earlier).id == earlier
    except (CorruptData, InvalidInput, NotFound):
        return False  # a commit that was removed or damaged, or another data version
