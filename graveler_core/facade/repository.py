"""A repository to work in. Every method only delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from graveler_core.engine.reading import difference_counts as difference
from graveler_core.engine.reading import history
from graveler_core.engine.reading.expired import expiries, with_expiries
from graveler_core.engine.reading.history import DiffQuery, LogLimit, LogQuery
from graveler_core.engine.reading.resolve import resolve, resolve_commit
from graveler_core.errors import InvalidInput
from graveler_core.facade.checks import Checks
from graveler_core.facade.dumping import Dumping
from graveler_core.facade.erasing import Erasing
from graveler_core.facade.history import CommitRecord, LogEntry, commit_record, header_record, log_entries
from graveler_core.facade.hooks import HookSettings
from graveler_core.facade.listing import Listing, number
from graveler_core.facade.maintenance import Maintenance
from graveler_core.facade.merging import Merging
from graveler_core.facade.multipart import RepositoryUploads
from graveler_core.facade.nessie import NessieExports
from graveler_core.facade.object_table import ObjectTable
from graveler_core.facade.protection import Protection
from graveler_core.facade.references import References
from graveler_core.facade.reflog import Reflog
from graveler_core.facade.repository_metadata import MetadataSettings
from graveler_core.facade.repository_settings import RepositoryOptions
from graveler_core.facade.retention import RetentionSettings
from graveler_core.facade.scanning import Scanning
from graveler_core.facade.snapshot import Snapshot
from graveler_core.facade.tasks import Tasks
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.bounds import Bounds
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.html import html_table
from graveler_core.model.ids import BranchId, RepositoryUid
from graveler_core.model.permission import Action
from graveler_core.objects.commits import scan_headers
from graveler_core.refs.childless import not_first_parents


class Repository(
    References,
    Reflog,
    Merging,
    Tasks,
    Protection,
    Checks,
    RetentionSettings,
    RepositoryOptions,
    MetadataSettings,
    HookSettings,
    Maintenance,
    Erasing,
    Dumping,
    ObjectTable,
    NessieExports,
    Scanning,
    RepositoryUploads,
):
    """A repository: its branches, tags and history.

    Every method also raises `PermissionDenied` if the caller may not call it, and `NotFound` (`RepositoryNotFound`,
    `RepositoryDeleting`) if the repository has been deleted.
    """

    def __repr__(self) -> str:
        return f"Repository({self.id!r})"

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the repository, by name."""
        return {"repository": self.id, **self._html_rows()}

    def _repr_html_(self) -> str:
        return html_table(f"Repository {self.id}", self._html_rows())

    def _html_rows(self) -> dict[str, object]:
        return {
            "storage namespace": self.storage_namespace,
            "default branch": self.default_branch,
            "created": self.creation_date,
        }

    @property
    def uid(self) -> RepositoryUid:
        """Unique id; differs after the repository is deleted and created again."""
        return self._record.uid

    @property
    def storage_namespace(self) -> str:
        """URI of the directory that holds the repository's objects."""
        return self._record.storage_namespace

    @property
    def default_branch(self) -> BranchId:
        """Default branch when the repository was opened, or when this handle last changed it; see `settings`."""
        return self._record.default_branch

    @property
    def creation_date(self) -> datetime:
        return self._record.creation_date

    @operation("resolve ref", needs.refs(Action.READ_COMMIT))
    def at(self, ref: str) -> Snapshot:
        """Resolve a ref expression, for reading: see `graveler_core.refs.expression`.

        Args:
            ref: The expression, such as `main`, `v1`, `main~2`, `main@` or a commit id.

        Returns:
            The state that the ref names.

        Raises:
            NotFound: the ref does not name a commit.
            InvalidInput: the expression is not valid.
        """
        return Snapshot(self._stores, self._record, ref, resolve(self._stores, self._active(), ref))

    @operation("show commit", needs.refs(Action.READ_COMMIT))
    def commit(self, ref: str) -> CommitRecord:
        """Return the commit that a ref names.

        Args:
            ref: Ref expression of the commit.

        Returns:
            The commit.

        Raises:
            NotFound: the ref does not name a commit.
            InvalidInput: the expression is not valid.
        """
        repository = self._active()
        found = resolve_commit(self._stores, repository, ref)
        return commit_record(found, expiries(self._stores, repository, [found.id]).get(found.id))

    @operation("list commits", needs.repository(Action.LIST_COMMITS))
    def commits(
        self,
        after: str = "",
        limit: int | None = None,
        *,
        not_first_parent: bool = False,
        start: str = "",
        end: str | None = None,
    ) -> Listing[CommitRecord]:
        """List all commits of the repository in order of their ids, lazily.

        The listing includes commits that cannot be reached from any branch or tag: those of deleted branches, and of
        calls that another call overtook, until a collection removes the latter.

        Args:
            after: List only commits with a greater id.
            limit: Maximum number of commits. `None` means all.
            not_first_parent: List only commits that are not the first parent of any commit: the newest commit of
            each line of history. This scans all headers once for each million commits before the first item, and
            again to resume with `after`: see `graveler_core.refs.childless`.
            start: List only ids that are not less than this (inclusive).
            end: List only ids that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.

        Returns:
            A listing of commits. The token of an item is its id.

        Raises:
            InvalidInput: an argument is not valid.
        """
        within = Bounds("", after, start, end)
        listed = not_first_parents if not_first_parent else scan_headers
        repository = self._active()
        found = listed(self._stores.kv, repository, within)
        marked = with_expiries(self._stores, repository, found, lambda each: each[0])
        return Listing((header_record(*each, expired) for each, expired in marked), lambda commit: commit.id, limit)

    @operation(
        "log",
        needs.refs(Action.LIST_COMMITS, named=("ref", "since")),
        needs.prefix(Action.LIST_OBJECTS, refs=("ref",), unless_empty=True),
    )
    def log(  # noqa: PLR0913 - one call, all of it optional
        self,
        ref: str,
        *,
        since: str | None = None,
        prefix: str = "",
        first_parent: bool = False,
        not_before: datetime | None = None,
        after: str | None = None,
        limit: int | None = None,
        max_commits: int | None = None,
        until: str | None = None,
    ) -> Listing[LogEntry]:
        """List the commit that a ref names and its ancestors, lazily.

        Commits are sorted by descending generation, so that descendants come before ancestors, and within a
        generation by descending date.

        Args:
            ref: Ref expression of the first commit.
            since: Ref expression. Leave out its commit and the ancestors of that commit.
            prefix: List only commits that changed a path with this prefix against their first parent.
            first_parent: List only the chain of first parents: the commits of the branch itself.
            not_before: List only commits with this date or a later one. The log does not go on from a commit that is
                older by more than an hour to the ancestors of that commit.
            after: Token of an entry of the same log, or id of a commit. List only later entries.
            limit: Maximum number of entries. `None` means all.
            max_commits: Maximum number of commits to look at, including those that are not listed. `rest()` of the
                listing then returns the token that resumes the log. `None` means all.
            until: Id of a commit. The log ends with this commit, even if it is not listed. If the log does not reach
                it, the id has no effect.

        Returns:
            A listing of log entries.

        Raises:
            NotFound: a ref does not name a commit.
            InvalidInput: an argument is not valid, or the token is from another log.
        """
        if not_before is not None and (not isinstance(not_before, datetime) or not_before.tzinfo is None):
            raise InvalidInput(f"not_before {not_before!r}: must be a datetime with a time zone")
        query = LogQuery(ref, since, prefix, first_parent, not_before)
        repository = self._active()
        most = LogLimit(None if max_commits is None else number("max_commits", max_commits, 1), until)
        steps = history.log(self._stores, repository, query, after, most)
        entries, ended = log_entries(self._stores, repository, query, steps), list[str | None]()

        def listed() -> Iterator[LogEntry]:
            yield from entries
            ended.append(most.rest)  # steps are read ahead, so the log may reach the limit before the listing ends

        return Listing(listed(), lambda entry: entry.token, limit, rest=lambda: ended[0] if ended else None)

    @operation(
        "diff",
        needs.refs(Action.READ_COMMIT, named=("left", "right")),
        needs.prefix(*needs.SHOWN, refs=("left", "right")),
    )
    def diff(  # noqa: PLR0913 - one call, all of it optional
        self,
        left: str,
        right: str,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
        since_merge_base: bool = False,
    ) -> Listing[Change]:
        """List the differences between the commits of two refs, in order of the paths, lazily.

        Args:
            left: Ref expression of the commit before.
            right: Ref expression of the commit after.
            prefix: List only paths that begin with this.
            after: List only greater paths.
            limit: Maximum number of changes. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.
            since_merge_base: Compare `right` with the merge base of both: list the changes that a merge of `right`
            would bring into `left`.

        Returns:
            A listing of changes from `left` to `right`. The token of an item is its path.

        Raises:
            NotFound: a ref does not name a commit, or (`NoMergeBase`) the histories are unrelated.
            InvalidInput: an argument is not valid.
        """
        query = DiffQuery(left, right, since_merge_base, Bounds(prefix, after, start, end))
        return Listing(self._diff(query), lambda change: change.path, limit)

    @operation(
        "diff summary",
        needs.refs(Action.READ_COMMIT, named=("left", "right")),
        needs.prefix(Action.LIST_OBJECTS, refs=("left", "right")),
    )
    def diff_summary(self, left: str, right: str, prefix: str = "", *, since_merge_base: bool = False) -> ChangeSummary:
        """Return the numbers of paths that `diff` would list, by kind of change, without listing them.

        Args:
            left: Ref expression of the commit before.
            right: Ref expression of the commit after.
            prefix: Count only paths that begin with this.
            since_merge_base: Compare `right` with the merge base of both.

        Returns:
            Numbers of added, changed and removed paths.

        Raises:
            NotFound: a ref does not name a commit, or (`NoMergeBase`) the histories are unrelated.
            InvalidInput: an argument is not valid.
        """
        return difference.summary(
            self._stores, self._active(), DiffQuery(left, right, since_merge_base, Bounds(prefix))
        )

    @operation("merge base", needs.refs(Action.READ_COMMIT, named=("left", "right")))
    def merge_base(self, left: str, right: str) -> CommitRecord:
        """Return the merge base of two refs: their best common ancestor.

        Args:
            left: Ref expression of one commit.
            right: Ref expression of the other commit.

        Returns:
            The merge base.

        Raises:
            NotFound: a ref does not name a commit, or (`NoMergeBase`) the histories are unrelated.
        """
        return commit_record(history.merge_base(self._stores, self._active(), left, right))

    def _diff(self, query: DiffQuery) -> Iterator[Change]:
        yield from history.diff(self._stores, self._active(), query)
