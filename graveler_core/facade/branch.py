"""A branch to work on. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from graveler_core.engine.committing import commit, transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.committing.validation import Arbiter, fail
from graveler_core.engine.compacting import history as compaction_history
from graveler_core.engine.compacting.compaction import Compacted
from graveler_core.engine.reading import branch as read
from graveler_core.engine.reading import listing, pinned
from graveler_core.engine.reading.listing import PAGE_ROWS, Beginning, PageSource, Window
from graveler_core.engine.reading.snapshot import readable
from graveler_core.engine.reading.tables import changes_of, staged_of
from graveler_core.engine.references import reset
from graveler_core.engine.staging import bulk, pressure, restore
from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.errors import InvalidInput
from graveler_core.facade.direct_uploads import DirectUploads
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.facade.listing import Listing
from graveler_core.facade.multipart import PartStaging
from graveler_core.guard import needs
from graveler_core.guard.addresses import of_operations
from graveler_core.guard.merges import new_name
from graveler_core.guard.operation import operation
from graveler_core.guard.staged_names import pressure_shown_to, shown_to
from graveler_core.model.bounds import Bounds
from graveler_core.model.changes import Change, StagedRecord
from graveler_core.model.compaction import CompactionHistory
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.names import optional_commit_id, prefix_key
from graveler_core.model.operations import Basis, Operation
from graveler_core.model.permission import Action
from graveler_core.model.scan import Pinned
from graveler_core.refs import branches


class Branch(DirectUploads, PartStaging):
    """A branch of a repository: writes, commits, and reads that include what is staged.

    Every method also raises `PermissionDenied` if the caller may not call it, and `NotFound` if the repository or
    the branch has been deleted. Methods that change the branch raise `PermissionDenied` if a protection rule blocks
    them or the repository is read-only.
    """

    @operation("show branch", needs.branch(Action.READ_BRANCH))
    def record(self) -> BranchRecord:
        """Return the current record of the branch: head, staging token, layers.

        Returns:
            The stored record. Callers who may not list every path of the branch see no prefix in the layers, and opaque
            names instead of those of staging tokens and layers.

        Raises:
            NotFound: (`BranchNotFound`) the branch has been deleted.
        """
        found = branches.get_branch(self._stores.kv, readable(self._stores, self._record.id), self.name).value
        return shown_to(self._stores.principal, self._record.id)(found)

    @operation("list uncommitted", needs.prefix(*needs.SHOWN))
    def uncommitted(
        self, prefix: str = "", after: str = "", limit: int | None = None, *, start: str = "", end: str | None = None
    ) -> Listing[Change]:
        """List the staged changes that differ from the branch's head, in order of the paths, lazily.

        Args:
            prefix: List only paths that begin with this.
            after: List only greater paths.
            limit: Maximum number of changes. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.

        Returns:
            A listing of changes. The token of an item is its path.

        Raises:
            InvalidInput: an argument is not valid.
        """
        return Listing(self._changes(Bounds(prefix, after, start, end)), lambda change: change.path, limit)

    @operation("list staged", needs.prefix(*needs.SHOWN))
    def staged(
        self, prefix: str = "", after: str = "", limit: int | None = None, *, start: str = "", end: str | None = None
    ) -> Listing[StagedRecord]:
        """List the newest record of each path in the branch's layers, in order of the paths, lazily.

        The records are entries and tombstones, including those that change nothing. Removals by prefix are not
        records: they hide older records. Compacted records are not staged any more: use `uncommitted` to list all
        changes.

        Args:
            prefix: List only paths that begin with this.
            after: List only greater paths.
            limit: Maximum number of records. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.

        Returns:
            A listing of records. The token of an item is its path.

        Raises:
            InvalidInput: an argument is not valid.
        """
        window = Window(Bounds(prefix, after, start, end))
        pages = listing.tables(partial(read.staged_page, *self._at), window)
        return Listing((record for page in pages for record in staged_of(page)), lambda record: record.path, limit)

    @operation("commit", needs.branch(Action.CREATE_COMMIT), needs.committer())
    def commit(  # noqa: PLR0913 - one call, all of it optional
        self,
        message: str,
        *,
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        idempotency_key: str = "",
        date: datetime | None = None,
    ) -> CommitRecord:
        """Commit everything that is staged.

        A staged entry that is equal by identity to the committed one is not a change: the committed entry stays,
        with its modification time and address.

        Args:
            message: Message of the commit. It may be empty; the command line refuses that without
            `--allow-empty-message`.
            committer: Name of the committer. With access control the caller's user name, unless the caller may set
            another one.
            metadata: Metadata of the commit, as text by key.
            allow_empty: Create the commit even if it changes nothing.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.
            date: Creation date of the commit, for histories that come from elsewhere. It decides the order of a log
            within a generation, and the age of the commit. `None` means now.

        Returns:
            The commit.

        Raises:
            InvalidInput: a text is too long, or the date has no time zone.
            NoChanges: there is nothing to commit. Staged records that change nothing are dropped.
            Conflict: (`Discarded`) a reset discarded the changes concurrently.
        """
        draft = Draft(message, committer, metadata or {}, allow_empty, idempotency_key, date)
        return commit_record(commit.commit(*self._at, draft))

    @operation("transact", needs.branch(Action.CREATE_COMMIT), of_operations, needs.committer())
    def transact(  # noqa: PLR0913 - one call, all of it optional
        self,
        operations: Sequence[Operation],
        *,
        message: str,
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        on_conflict: Arbiter = fail,
        on: Basis | str | None = None,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Apply operations (`Put`, `Remove`, `Unchanged`) in one commit, or none of them. Nothing is staged.

        Args:
            operations: The operations, each on a path of its own.
            message: Message of the commit.
            committer: Name of the committer, as for `commit`.
            metadata: Metadata of the commit, as text by key.
            on_conflict: Function that decides about each operation that does not fit the current entry. By default
            the transaction is refused.
            on: Id of the commit that the branch's head must be, or a `Basis` with prefixes: then only the content
            under the prefixes must be the same as in that commit, and nothing may be staged there. `None` accepts
            any head.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.

        Returns:
            The commit.

        Raises:
            Conflict: (`TransactionConflict`) `details["conflicts"]` lists the operations that do not fit;
            (`LostRace`) the branch no longer has the state `on`: read it again, then repeat the call.
            DirtyBranch: some of the paths, or paths under a prefix, are staged on the branch.
            InvalidInput: an operation is not valid, or the path of a `Put` is not valid, as for `put`.
            NoChanges: the operations change nothing.
        """
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        basis = Basis(CommitId(on)) if isinstance(on, str) else on
        return commit_record(transact.transact(*self._at, transact.Transaction(operations, on_conflict, basis), draft))

    @operation("reset", needs.branch(Action.REVERT_BRANCH))
    def reset(self, prefix: str = "", *, path: str | None = None) -> None:
        """Discard what is staged.

        Args:
            prefix: Discard only changes of paths that begin with this. "" discards everything.
            path: Discard only the change of this path. Do nothing if it has none.

        Raises:
            InvalidInput: the prefix or the path is not valid, or both are given.
            SlowDown: (only with a prefix or a path) the branch has too many layers.
        """
        if path is not None:
            if prefix:
                raise InvalidInput("reset: needs either a prefix or a path, not both")
            restore.restore_path(*self._at, path)
        elif prefix_key(prefix):
            bulk.restore_prefix(*self._at, prefix)
        else:
            reset.reset(*self._at)

    @operation("hard reset", needs.branch(Action.REVERT_BRANCH), new_name("ref"))
    def hard_reset(self, ref: str, *, expected: str | None = None) -> CommitRecord:
        """Move the head to the commit that a ref names.

        Args:
            ref: Ref expression of the commit.
            expected: Id of the commit that the head must be now. `None` accepts any head.

        Returns:
            The commit that is now the head.

        Raises:
            DirtyBranch: changes are staged on the branch.
            NotFound: the ref does not name a commit.
            Conflict: (`LostRace`) the head is not the expected commit. `details` has `expected` and `actual`.
            InvalidInput: `expected` is not a commit id.
        """
        return commit_record(reset.hard_reset(*self._at, ref, optional_commit_id("expected", expected)))

    @operation("compact", needs.branch(Action.MAINTAIN_REPOSITORY))
    def compact(self, *, every: timedelta = timedelta(0)) -> Compacted:
        """Merge all layers into one tree, still uncommitted, so that reads of the branch are fast again.

        Args:
            every: Do nothing if another compaction began less than this long ago.

        Returns:
            Numbers that describe the compaction.

        Raises:
            NoChanges: nothing is staged.
            SlowDown: (`CompactionUnderWay`) another compaction began less than `every` ago.
            Conflict: (`CompactionLost`) a commit, reset or bulk write happened concurrently. Nothing was changed.
        """
        return compaction_history.compact_and_remember(*self._at, every)

    @operation("pressure", needs.branch(Action.READ_BRANCH))
    def pressure(self, *, exact: bool = False) -> BranchPressure:
        """Return how much is staged on the branch, and whether the branch should be compacted.

        Args:
            exact: Count by reading everything that is staged, and correct the counters. By default the counters are
            returned.

        Returns:
            The pressure of the branch, with its record as `record` returns it. The record of the repository contains
            webhooks and rules only for those who may read them.

        Raises:
            NotFound: (`BranchNotFound`) the branch has been deleted.
        """
        found = (pressure.recount if exact else pressure.of_branch)(*self._at)
        return pressure_shown_to(self._stores.principal, found)

    @operation("list compactions", needs.branch(Action.READ_BRANCH))
    def compactions(self) -> CompactionHistory:
        """Return the recorded compactions of the branch.

        Returns:
            Totals, and the newest compactions.

        Raises:
            NotFound: (`BranchNotFound`) the branch has been deleted.
        """
        return compaction_history.history(*self._at)

    def _find(self, path: str) -> Entry | None:
        return read.get(*self._at, path)

    def _pin(self, repository: RepositoryRecord) -> Pinned:
        return pinned.pin_branch(self._stores, repository, self.name)

    def _source(self) -> PageSource:
        return partial(read.entries_page, *self._at)

    def _beginning(self) -> Beginning:
        return partial(read.begin_listing, *self._at)

    def _changes(self, within: Bounds) -> Iterator[Change]:
        start, end = within.interval()
        while True:
            found = read.changes_page(*self._at, (start, end), PAGE_ROWS)
            yield from changes_of(found)
            if len(found) < PAGE_ROWS:
                return
            start = found.keys[-1].as_py() + b"\0"
