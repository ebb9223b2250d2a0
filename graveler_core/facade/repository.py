"""A repository to work in. Thin: every method delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal

from graveler_core.committed.diff import KEYS, Differences
from graveler_core.engine import branching, history, pressure
from graveler_core.engine.compaction_history import BranchCompactions, histories
from graveler_core.engine.history import DiffQuery, LogQuery
from graveler_core.engine.resolve import resolve, resolve_commit
from graveler_core.engine.rows import changes_of
from graveler_core.errors import InvalidInput
from graveler_core.facade.branch import Branch
from graveler_core.facade.history import CommitRecord, LogEntry, commit_record, log_entry
from graveler_core.facade.listing import Listing
from graveler_core.facade.moving import Moving
from graveler_core.facade.protecting import Protecting
from graveler_core.facade.snapshot import Snapshot
from graveler_core.gc.findings import Finding
from graveler_core.gc.fsck import fsck
from graveler_core.gc.stock import Progress
from graveler_core.gc.sweep import GRACE, Plan, Swept, sweep
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.model.entities import Branch as BranchRecord
from graveler_core.model.entities import Tag
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.names import branch_id, prefix_key, tag_id
from graveler_core.refs import branches


class Repository(Moving, Protecting):
    """A repository: its branches, tags and history."""

    def __repr__(self) -> str:
        return f"Repository({self.id!r})"

    @property
    def storage_namespace(self) -> str:
        """URI of the place below which the repository keeps its objects."""
        return self._record.storage_namespace

    @property
    def default_branch(self) -> BranchId:
        return self._record.default_branch

    @property
    def creation_date(self) -> datetime:
        return self._record.creation_date

    def branch(self, name: str) -> Branch:
        """A branch to work on. Raises `NotFound` (`BranchNotFound`)."""
        known = branches.get_branch(self._stores.kv, self._active(), branch_id(name))
        return Branch(self._stores, self._record, known.value.id)

    def branches(
        self,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        order_by: Literal["id", "commit_id"] = "id",
    ) -> Listing[BranchRecord]:
        """The branches, ordered by name, lazily; or ordered by head, which reads all of them first."""
        if order_by not in ("id", "commit_id"):
            raise InvalidInput(f"order_by {order_by!r}: must be 'id' or 'commit_id'")
        prefix_key(prefix)
        prefix_key(after)
        if order_by == "id":
            found = branches.list_branches(self._stores.kv, self._active(), prefix=prefix, after=after)
            return Listing(found, lambda branch: branch.id, limit)
        by_head = self._by_head(prefix, after)
        return Listing(by_head, _head_token, limit)

    def create_branch(self, name: str, source: str) -> Branch:
        """Create a branch at the commit that a ref names; what is staged on the source stays there. Copies nothing."""
        record = branching.create_branch(self._stores, self.id, branch_id(name), source)
        return Branch(self._stores, self._record, record.id)

    def delete_branch(self, name: str) -> None:
        """Delete a branch with everything staged on it; its commits stay."""
        branching.delete_branch(self._stores, self.id, branch_id(name))

    def tags(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Tag]:
        """The tags, ordered by name, lazily."""
        prefix_key(prefix)
        prefix_key(after)
        found = branches.list_tags(self._stores.kv, self._active(), prefix=prefix, after=after)
        return Listing(found, lambda tag: tag.id, limit)

    def create_tag(self, name: str, ref: str, *, message: str = "", signature: str = "") -> Tag:
        """Create a tag at the commit that a ref names."""
        tag = Tag(id=tag_id(name), commit_id=CommitId(""), message=message, signature=signature)
        return branching.create_tag(self._stores, self.id, tag, ref)

    def delete_tag(self, name: str) -> None:
        """Delete a tag; its commit stays."""
        branching.delete_tag(self._stores, self.id, tag_id(name))

    def at(self, ref: str) -> Snapshot:
        """What a ref expression shows: see `graveler_core.refs.expression` and `Snapshot`."""
        return Snapshot(self._stores, self._record, ref, resolve(self._stores, self._active(), ref))

    def commit(self, ref: str) -> CommitRecord:
        """The commit that a ref names."""
        return commit_record(resolve_commit(self._stores, self._active(), ref))

    def log(  # noqa: PLR0913 - one call, all of it optional
        self,
        ref: str,
        *,
        since: str | None = None,
        prefix: str = "",
        first_parent: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> Listing[LogEntry]:
        """The commit that a ref names and its ancestors, lazily: larger generations first, so descendants before
        ancestors; of one generation the newer first.

        Args:
            since: A ref. Without its commit and the ancestors of that: what `ref` has and `since` has not.
            prefix: Only commits that changed, against their first parent, a path that begins so.
            first_parent: Only the chain of first parents: the commits of the branch itself.
            after: The token of an entry of the same log; only what comes behind it.
        """
        query = LogQuery(ref, since, prefix, first_parent)
        repository = self._active()
        steps = history.log(self._stores, repository, query, after)
        found = (log_entry(self._stores, repository, query, step) for step in steps)
        return Listing(found, lambda entry: entry.token, limit)

    def diff(  # noqa: PLR0913 - one call, all of it optional
        self,
        left: str,
        right: str,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        since_merge_base: bool = False,
    ) -> Listing[Change]:
        """What the commit of `right` has that the commit of `left` has not, in order of the paths, lazily.

        Args:
            since_merge_base: Compare `right` with the merge base of both: what `right` would bring into `left`.
        """
        prefix_key(prefix)
        prefix_key(after)
        query = DiffQuery(left, right, since_merge_base, prefix, after)
        found = (change for page in self._diff(query) for change in changes_of(page))
        return Listing(found, lambda change: change.path, limit)

    def diff_summary(self, left: str, right: str, prefix: str = "", *, since_merge_base: bool = False) -> ChangeSummary:
        """How many paths `diff` would list, by kind; counted without listing them."""
        return history.count(self._diff(DiffQuery(left, right, since_merge_base, prefix, wanted=KEYS)))

    def merge_base(self, left: str, right: str) -> CommitRecord:
        """The best common ancestor of two refs. Raises `NotFound` (`NoMergeBase`) for unrelated histories."""
        return commit_record(history.merge_base(self._stores, self._active(), left, right))

    def fsck(self, *, deep: bool = False, progress: Progress = lambda more: None) -> Iterator[Finding]:
        """Check all that is stored for the repository, lazily; changes nothing: see `graveler_core.gc.fsck`.

        Args:
            deep: Read every range, run and staged record, and compare each commit with its first parent.
            progress: Told how many more things were looked at.
        """
        return fsck(self._stores, self._active(), deep=deep, progress=progress)

    def thresholds(self) -> CompactionSettings:
        """From where on branches should be compacted."""
        return pressure.settings_of(self._stores, self._active())

    def set_thresholds(self, thresholds: Thresholds | None, branch: str | None = None) -> CompactionSettings:
        """Set the thresholds of all branches, or of one; None takes them back. Gives all of them."""
        name = None if branch is None else branch_id(branch)
        return pressure.set_thresholds(self._stores, self._active(), thresholds, name)

    def compactions(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[BranchCompactions]:
        """What compactions did, branch by branch of those that were compacted, ordered by name, lazily."""
        prefix_key(prefix)
        prefix_key(after)
        found = histories(self._stores, self._active(), prefix=prefix, after=after)
        return Listing(found, lambda item: item.branch, limit)

    def sweep(
        self, *, grace: timedelta = GRACE, dry_run: bool = False, limit: int | None = None, alone: bool = False
    ) -> Swept:
        """Delete what no commit and no branch names and nobody has needed for a while: see `graveler_core.gc.sweep`.

        Args:
            grace: Longer than any build takes; at least a day, unless `alone`.
            dry_run: Say what would be deleted.
            limit: Delete at most so many things.
            alone: Nobody else is at work on the repository.
        """
        return sweep(self._stores, self._active(), Plan(grace, dry_run, limit, alone))

    def _diff(self, query: DiffQuery) -> Iterator[Differences]:
        yield from history.diff(self._stores, self._active(), query)

    def _by_head(self, prefix: str, after: str) -> Iterator[BranchRecord]:
        found = branches.list_branches(self._stores.kv, self._active(), prefix=prefix)
        ordered = sorted(found, key=lambda branch: (branch.commit_id, branch.id))
        return iter([branch for branch in ordered if _head_token(branch) > after])


def _head_token(branch: BranchRecord) -> str:
    return f"{branch.commit_id}/{branch.id}"
