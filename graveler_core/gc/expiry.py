"""Commits of a repository that expire, as a collection finds them at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import CollectionRecord, ListedFiles
from graveler_core.gc.commit_groups import CommitGroups
from graveler_core.gc.retention import ReferencedCommits, not_kept, read_history, read_references, rules_of
from graveler_core.gc.stock import Progress
from graveler_core.model.collection import Expiry
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.objects import expired_commits
from graveler_core.stores import Stores


@dataclass(frozen=True)
class CommitStates:
    """Commits that are kept, are about to expire, or have expired. The tables are in `expired_commits.COMMITS`."""

    references: ReferencedCommits
    not_kept: dict[CommitId, str]
    """Commits that nothing keeps now, with the rule that kept each longest."""
    announced: pa.Table
    """Commits that are about to expire with the condemned set, except for revived ones."""
    expired: pa.Table
    """Commits that have expired."""

    @cached_property
    def due(self) -> pa.Table:
        """Announced commits that nothing keeps now."""
        return self.announced.filter(pc.is_in(self.announced.column("commit"), pa.array(self.not_kept, pa.string())))

    @cached_property
    def new(self) -> dict[CommitId, str]:
        """Commits that nothing keeps now and that are not announced, with their rules."""
        known = _ids(self.announced) | _ids(self.expired)
        return {id: rule for id, rule in self.not_kept.items() if id not in known}

    @property
    def expiring(self) -> set[CommitId]:
        """Commits that are announced, or are to be."""
        return _ids(self.announced) | self.new.keys()

    def announcement(self, now: datetime) -> pa.Table:
        """Return the new commits."""
        return expired_commits.table({id: Expiry(since=now, rule=rule) for id, rule in self.new.items()})

    def with_due_expired(self) -> CommitStates:
        """Return the states after the due commits have expired. The other announced ones do not expire."""
        expired = expired_commits.merged([self.expired, self.due])
        return CommitStates(self.references, self.not_kept, expired_commits.COMMITS.empty_table(), expired)

    def before_announcement(self) -> CommitGroups:
        """Return the groups for a walk over names that looks for objects to condemn.

        An expired commit that something keeps now is part of the history: what is left of its content is kept.
        """
        return CommitGroups(self.references.commits, _ids(self.due) | self.new.keys(), self._gone())

    def after_expiry(self) -> CommitGroups:
        """Return the groups for a walk over names that looks for objects to delete. Commits that have not expired all
        count, kept or not.
        """
        return CommitGroups(self.references.commits, expired=self._gone())

    def _gone(self) -> set[CommitId]:
        return self.not_kept.keys() & _ids(self.expired)


def read_states(
    stores: Stores, repo: RepositoryRecord, listed: ListedFiles, plan: CollectionPlan, progress: Progress
) -> CommitStates:
    """Read the rules and the commits of a repository, and find out what the rules keep now.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        listed: Content of the files that the collection record lists.
        plan: Options of the collection.
        progress: Called with the number of commits read since the last call.

    Raises:
        CorruptData: A header is missing or damaged.
    """
    rules = plan.rules or rules_of(stores.kv, repo)
    references = read_references(stores.kv, repo)
    found = dict[CommitId, str]()
    if rules.expires:
        history = read_history(stores.kv, repo, references, progress)
        found = not_kept(history, rules, stores.clock.now(), plan.grace)
    return CommitStates(references, found, listed.expiring, listed.expired)


def without_content(stores: Stores, repo: RepositoryRecord) -> set[CommitId]:
    """Return the commits that have expired or are about to.

    Raises:
        CorruptData: A file that the collection record lists is missing or damaged.
    """
    listed = CollectionRecord(stores, repo).read_files()
    return _ids(listed.expiring) | _ids(listed.unreached) | _ids(listed.expired)


def _ids(commits: pa.Table) -> set[CommitId]:
    return set(commits.column("commit").to_pylist())
