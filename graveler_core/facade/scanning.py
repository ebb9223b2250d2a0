"""Partitioned scans of a repository's history. Thin: every method delegates to `engine`."""

from __future__ import annotations

from graveler_core.engine.reading import history, scans
from graveler_core.engine.reading.history import DiffQuery
from graveler_core.engine.reading.resolve import resolve_content
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import number
from graveler_core.facade.scan import Scan
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.guard.scans import of_plan
from graveler_core.guard.scope import Scope, pinned_scope
from graveler_core.model.ids import CommitId
from graveler_core.model.key_intervals import key_interval
from graveler_core.model.names import branch_id, prefix_key
from graveler_core.model.permission import Action
from graveler_core.model.scan import ChangeScanPlan, ScanPlan, scanned_keys
from graveler_core.refs import branches


class Scanning(Handle):
    """Methods of `Repository` for partitioned scans."""

    @operation(
        "scan diff",
        needs.refs(Action.READ_COMMIT, named=("left", "right")),
        needs.prefix(*needs.SHOWN, refs=("left", "right")),
    )
    def scan_diff(  # noqa: PLR0913 - one call, all of it optional
        self,
        left: str | None,
        right: str,
        prefix: str = "",
        start: str = "",
        end: str | None = None,
        *,
        since_merge_base: bool = False,
    ) -> Scan:
        """Scan the differences between the commits of two refs, in partitions that other processes can read.

        The changes of a commit are those from its first parent: `scan_diff(commit.parents[0], commit.id)`.

        Args:
            left: Ref expression of the commit before. `None` means a state without entries: then all entries are added.
            right: Ref expression of the commit after.
            prefix: Beginning of the paths to scan.
            start: Scan only paths that are not less than this.
            end: Scan only paths that are less than this. `None` means no limit.
            since_merge_base: Compare `right` with the merge base of both.

        Returns:
            The scan. Its rows are in `CHANGE_SCHEMA`.

        Raises:
            NotFound: a ref does not name a commit, or (`NoMergeBase`) the histories are unrelated.
            InvalidInput: an argument is not valid.
        """
        intervals = scanned_keys(prefix, start, end)
        repository = self._active()
        after_scopes, right = self._scoped(right, since_merge_base)
        if left is None:
            if since_merge_base:
                raise InvalidInput("diff: since_merge_base requires a ref as 'left'")
            after = resolve_content(self._stores, repository, right).id
            plan = ChangeScanPlan(repository.id, repository.uid, None, after, prefix, intervals)
            return Scan(self._stores, plan, after_scopes)
        before_scopes, left = self._scoped(left, since_merge_base)
        before, after = history.sides(self._stores, repository, DiffQuery(left, right, since_merge_base))
        plan = ChangeScanPlan(repository.id, repository.uid, before, after, prefix, intervals)
        return Scan(self._stores, plan, before_scopes + after_scopes)

    @operation("open scan", needs.repository(Action.READ_COMMIT), of_plan(*needs.SHOWN))
    def open_scan(self, plan: ScanPlan) -> Scan:
        """Open a scan that another process has planned.

        With access control, this requires permission to read commits, and the prefix of the scan through any ref,
        because a plan does not prove through which ref its content was permitted.

        Args:
            plan: `Scan.plan` of the other process.

        Returns:
            The scan, with the same content.

        Raises:
            NotFound: (`RepositoryNotFound`) the repository of the plan has been deleted, even if this one has its name.
                Raised when the scan is used.
            InvalidInput: the plan is from a repository of another name.
        """
        if plan.repository != self.id:
            raise InvalidInput(f"scan: is from repository {plan.repository!r}, but was opened in {self.id!r}")
        return Scan(self._stores, plan.within([key_interval(prefix_key(plan.prefix))]), (Scope(self.id),))

    @operation(
        "find next offset",
        needs.branch(Action.READ_BRANCH, named="branch"),
        needs.refs(Action.LIST_COMMITS, named=("branch", "until")),
        branch="branch",
    )
    def next_offset(
        self, branch: str, after: str | None = None, max_commits: int | None = None, until: str | None = None
    ) -> CommitId:
        """Return the commit up to which a reader of a branch's changes should read next.

        A reader stores the id of the commit up to which it has read, and reads the next changes by
        `scan_diff(stored, next)`. A scan of two commits never changes, so a reader can repeat it after a crash.

        Args:
            branch: Name of the branch.
            after: Id of the commit up to which the reader has read. `None` means that it has read nothing.
            max_commits: Maximum number of commits to read at once, counted along first parents. `None` means all.
            until: Id of the commit at which the reader stops. `None` means the head of the branch.

        Returns:
            Id of the last commit to read. It equals `after` if there is nothing new. If `after` is not on the
            first-parent path (after a hard reset, for example), it is the head, or `until`.

        Raises:
            NotFound: the branch or a commit does not exist.
            InvalidInput: an argument is not valid.
        """
        repository = self._active()
        end = None if until is None else CommitId(until)
        if end is None:
            end = branches.get_branch(self._stores.kv, repository, branch_id(branch)).value.commit_id
        if max_commits is None:
            return end
        most = number("max_commits", max_commits, 1)
        return scans.next_offset(self._stores, repository, None if after is None else CommitId(after), end, most)

    def _scoped(self, ref: str, history: bool) -> tuple[tuple[Scope, ...], str]:
        """Return the scope of a ref and its commit id; for a handle without access control, only the ref."""
        if self._stores.principal is None:
            return (), ref
        pinned = pinned_scope(self._stores, self.id, ref)
        return (pinned.scope,), pinned.commit() if history else pinned.ref
