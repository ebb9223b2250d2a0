"""Branches and tags of a migrated repository that later runs create and move."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.errors import Conflict, DirtyBranch, NotUnique, PermissionDenied
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.stores import Stores
from graveler_core.transfer.lakefs.plan import ReferenceFlows
from graveler_core.transfer.lakefs.report import MigratedReferences

_LEFT_ALONE = (Conflict, DirtyBranch, NotUnique, PermissionDenied)
"""Errors after which a branch or tag is left as it is."""
N = TypeVar("N", BranchId, TagId)


@dataclass(frozen=True, slots=True)
class Following:
    """Branches and tags of an active repository that follow those of lakeFS."""

    stores: Stores
    repository: RepositoryRecord
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
