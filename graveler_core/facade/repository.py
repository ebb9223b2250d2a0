"""A repository to work in. Thin: every method delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from graveler_core.committed.diff import Differences
from graveler_core.engine import difference, history, pressure
from graveler_core.engine.compaction_history import BranchCompactions, histories
from graveler_core.engine.history import DiffQuery, LogQuery
from graveler_core.engine.resolve import resolve, resolve_commit
from graveler_core.engine.rows import changes_of
from graveler_core.facade import needs
from graveler_core.facade.commits import Commits
from graveler_core.facade.history import CommitRecord, LogEntry, commit_record, log_entry
from graveler_core.facade.importing import Importing
from graveler_core.facade.joining import Joining
from graveler_core.facade.listing import Listing
from graveler_core.facade.moving import Moving
from graveler_core.facade.operation import operation
from graveler_core.facade.protecting import Protecting
from graveler_core.facade.references import References
from graveler_core.facade.snapshot import Snapshot
from graveler_core.gc.findings import Finding
from graveler_core.gc.fsck import fsck
from graveler_core.gc.stock import Progress
from graveler_core.gc.sweep import GRACE, Plan, Swept, sweep
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.model.ids import BranchId, RepositoryUid
from graveler_core.model.names import branch_id, prefix_key
from graveler_core.model.permission import Action


class Repository(References, Joining, Importing, Commits, Protecting, Moving):
    """A repository: its branches, tags and history."""

    def __repr__(self) -> str:
        return f"Repository({self.id!r})"

    @property
    def uid(self) -> RepositoryUid:
        """What tells it from others that bear, or bore, its name."""
        return self._record.uid

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

    @operation("resolve ref", needs.through_refs(Action.READ_COMMIT))
    def at(self, ref: str) -> Snapshot:
        """What a ref expression shows: see `graveler_core.refs.expression` and `Snapshot`."""
        return Snapshot(self._stores, self._record, ref, resolve(self._stores, self._active(), ref))

    @operation("show commit", needs.through_refs(Action.READ_COMMIT))
    def commit(self, ref: str) -> CommitRecord:
        """The commit that a ref names."""
        return commit_record(resolve_commit(self._stores, self._active(), ref))

    @operation(
        "log",
        needs.through_refs(Action.LIST_COMMITS, named=("ref", "since")),
        needs.under(Action.LIST_OBJECTS, refs=("ref",), unless_empty=True),
    )
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

    @operation(
        "diff",
        needs.through_refs(Action.READ_COMMIT, named=("left", "right")),
        needs.under(*needs.SHOWN, refs=("left", "right")),
    )
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

    @operation(
        "diff summary",
        needs.through_refs(Action.READ_COMMIT, named=("left", "right")),
        needs.under(Action.LIST_OBJECTS, refs=("left", "right")),
    )
    def diff_summary(self, left: str, right: str, prefix: str = "", *, since_merge_base: bool = False) -> ChangeSummary:
        """How many paths `diff` would list, by kind; counted without listing them."""
        return difference.summary(self._stores, self._active(), DiffQuery(left, right, since_merge_base, prefix))

    @operation("merge base", needs.through_refs(Action.READ_COMMIT, named=("left", "right")))
    def merge_base(self, left: str, right: str) -> CommitRecord:
        """The best common ancestor of two refs. Raises `NotFound` (`NoMergeBase`) for unrelated histories."""
        return commit_record(history.merge_base(self._stores, self._active(), left, right))

    @operation("fsck", needs.repository(Action.CHECK_REPOSITORY))
    def fsck(self, *, deep: bool = False, progress: Progress = lambda more: None) -> Iterator[Finding]:
        """Check all that is stored for the repository, lazily; changes nothing: see `graveler_core.gc.fsck`.

        Args:
            deep: Read every range, run and staged record, and compare each commit with its first parent.
            progress: Told how many more things were looked at.
        """
        return fsck(self._stores, self._active(), deep=deep, progress=progress)

    @operation("show thresholds", needs.repository(Action.READ_REPOSITORY))
    def thresholds(self) -> CompactionSettings:
        """From where on branches should be compacted."""
        return pressure.settings_of(self._stores, self._active())

    @operation("set thresholds", needs.repository(Action.UPDATE_REPOSITORY))
    def set_thresholds(self, thresholds: Thresholds | None, branch: str | None = None) -> CompactionSettings:
        """Set the thresholds of all branches, or of one; None takes them back. Gives all of them."""
        name = None if branch is None else branch_id(branch)
        return pressure.set_thresholds(self._stores, self._active(), thresholds, name)

    @operation("list compactions", needs.repository(Action.LIST_BRANCHES))
    def compactions(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[BranchCompactions]:
        """What compactions did, branch by branch of those that were compacted, ordered by name, lazily."""
        prefix_key(prefix)
        prefix_key(after)
        found = histories(self._stores, self._active(), prefix=prefix, after=after)
        return Listing(found, lambda item: item.branch, limit)

    @operation("sweep", needs.repository(Action.COLLECT_GARBAGE))
    def sweep(
        self,
        *,
        grace: timedelta = GRACE,
        dry_run: bool = False,
        limit: int | None = None,
        alone: bool = False,
        uploads: bool = False,
    ) -> Swept:
        """Delete what no commit and no branch names and nobody has needed for a while: see `graveler_core.gc.sweep`.

        Args:
            grace: Longer than any build takes; at least a day, unless `alone`.
            dry_run: Say what would be deleted.
            limit: Delete at most so many things.
            alone: Nobody else is at work on the repository.
            uploads: Delete the files, too, that jobs stored and did not live to commit: see `graveler_core.gc.uploads`.
        """
        return sweep(self._stores, self._active(), Plan(grace, dry_run, limit, alone, uploads))

    def _diff(self, query: DiffQuery) -> Iterator[Differences]:
        yield from history.diff(self._stores, self._active(), query)
