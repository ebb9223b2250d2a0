"""Commits that a migration has written, by their ids in the source."""

from __future__ import annotations

from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def migrated_commits(stores: Stores, repo: Repository) -> dict[str, CommitId]:
    """Return the migrated commits of a repository by their ids in the source."""
    return {id: held.value.commit_id for id, held in access.scan(stores.kv, keys.migrated_commits(repo))}
