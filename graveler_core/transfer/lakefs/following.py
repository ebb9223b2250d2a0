"""Branches and tags of a migrated repository: created with it, and moved by later runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.errors import Conflict, DirtyBranch, NotUnique, PermissionDenied, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import Branch, Repository, Tag
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.refs.branches import list_branches, list_tags, new_branch
from graveler_core.stores import Stores
from graveler_core.transfer.lakefs.plan import ReferenceFlows
from graveler_core.transfer.lakefs.report import MigratedReferences
from graveler_core.transfer.migration.holding import Holding

_LEFT_ALONE = (Conflict, DirtyBranch, NotUnique, PermissionDenied)
"""Errors because of which a branch or tag is left alone."""
N = TypeVar("N", BranchId, TagId)
R = TypeVar("R", Branch, Tag)


@dataclass(frozen=True, slots=True)
class WantedReferences:
    """New commits of the branches and tags of lakeFS."""

    branches: Mapping[BranchId, CommitId]
    tags: Mapping[TagId, CommitId]


def create_all(holding: Holding, wanted: WantedReferences) -> None:
    """Create the branches and tags of a repository that nobody sees yet.

    Those that an interrupted run has created are replaced if lakeFS has moved them since.
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


@dataclass(frozen=True, slots=True)
class Following:
    """Branches and tags of an active repository that follow those of lakeFS."""

    stores: Stores
    repository: Repository
    flows: ReferenceFlows
    ours: Collection[CommitId]
    """Commits that migrations have written."""

    def branches(self, wanted: Mapping[BranchId, CommitId]) -> MigratedReferences:
        """Create and move branches."""
        here = {branch.id: branch.commit_id for branch in list_branches(self.stores.kv, self.repository)}
        return self._all(wanted, here, self.flows.create_branch, self.flows.move_branch)

    def tags(self, wanted: Mapping[TagId, CommitId]) -> MigratedReferences:
        """Create and move tags."""
        here = {tag.id: tag.commit_id for tag in list_tags(self.stores.kv, self.repository)}
        return self._all(wanted, here, self.flows.create_tag, self.flows.move_tag)

    def _all(
        self,
        wanted: Mapping[N, CommitId],
        here: Mapping[N, CommitId],
        create: Callable[[RepositoryId, N, CommitId], object],
        move: Callable[[RepositoryId, N, CommitId, CommitId], object],
    ) -> MigratedReferences:
        done: dict[str, list[str]] = {"created": [], "moved": [], "unchanged": [], "kept": []}
        for name, commit in sorted(wanted.items()):
            now = here.get(name)
            try:
                if now == commit:
                    how = "unchanged"
                elif now is None:
                    create(self.repository.id, name, commit)
                    how = "created"
                elif now in self.ours:
                    move(self.repository.id, name, commit, now)
                    how = "moved"
                else:
                    how = "kept"
            except _LEFT_ALONE:
                how = "kept"
            done[how].append(name)
        return MigratedReferences(**{how: tuple(names) for how, names in done.items()})
