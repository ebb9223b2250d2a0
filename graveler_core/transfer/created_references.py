"""Branches and tags that a migration creates in a repository that nobody sees yet."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.errors import PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import BranchRecord, Tag
from graveler_core.model.ids import BranchId, CommitId, TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.refs.branches import new_branch
from graveler_core.transfer.migration.holding import Holding

R = TypeVar("R", BranchRecord, Tag)


@dataclass(frozen=True, slots=True)
class WantedReferences:
    """New commits of the branches and tags of a source."""

    branches: Mapping[BranchId, CommitId]
    tags: Mapping[TagId, CommitId]


def create_all(holding: Holding, wanted: WantedReferences) -> None:
    """Create the branches and tags of a repository that nobody sees yet.

    Those that an interrupted run has created are replaced if the source has moved them since.
    """
    stores, repo = holding.stores, holding.repository
    for branch, commit in sorted(wanted.branches.items()):
        begun = past.begun(commit, stores.moment())
        _put(holding, keys.branch(repo, branch), new_branch(stores.ids, repo, branch, commit, begun))
    for tag, commit in sorted(wanted.tags.items()):
        begun = past.begun(commit, stores.moment())
        _put(holding, keys.tag(repo, tag), Tag(id=tag, commit_id=commit, past=begun))


def _put(holding: Holding, where: Location[R], record: R) -> None:
    """Create or replace a record. If another run has taken the repository over, nothing of it is replaced."""
    kv = holding.stores.kv
    held = access.read(kv, where)
    holding.require()
    # If the record changed in the meantime, this run no longer owns the repository, and notices at its next step.
    with suppress(PredicateFailed):
        if held is None:
            access.create(kv, where, record, once=True)
        elif held.value.commit_id != record.commit_id:
            access.replace(kv, where, held, record)
