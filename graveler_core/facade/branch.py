"""A branch to work on. Thin: every method delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import BinaryIO

import pyarrow as pa

from graveler_core.codec.entry import normalise
from graveler_core.engine import (
    bulk,
    commit,
    compaction_history,
    content,
    listing,
    pressure,
    read,
    remove,
    reset,
    transact,
    write,
)
from graveler_core.engine.compaction import Compacted
from graveler_core.engine.draft import Draft
from graveler_core.engine.layer_parts import Written
from graveler_core.engine.listing import PAGE_ROWS, Window
from graveler_core.engine.pressure import BranchPressure
from graveler_core.engine.rows import changes_of, staged_of
from graveler_core.engine.snapshot import readable
from graveler_core.engine.validation import Arbiter, fail
from graveler_core.facade import needs
from graveler_core.facade.addresses import of_entry, of_operations, of_table
from graveler_core.facade.bringing import named_anew
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.facade.place import Place, on_branch
from graveler_core.facade.snapshot import listed, required
from graveler_core.model.changes import Change, StagedRecord
from graveler_core.model.compaction import CompactionHistory
from graveler_core.model.entities import Branch as BranchRecord
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.names import many_paths, path_key, prefix_key
from graveler_core.model.operations import Basis, Operation
from graveler_core.model.permission import Action
from graveler_core.refs import branches
from graveler_core.segments.sorted_keys import prefix_end
from graveler_core.stores import SortedRows, Stores
from graveler_core.telemetry import Said


class Branch:
    """A branch of a repository: written to, committed, read with what is staged on it."""

    def __init__(self, stores: Stores, record: RepositoryRecord, name: BranchId) -> None:
        self._stores = stores
        self._record = record
        self._at = (stores, record.id, name)
        self._said: Said = (record.id, name)
        self.name = name

    def __repr__(self) -> str:
        return f"Branch({self._record.id!r}, {self.name!r})"

    @property
    def id(self) -> BranchId:
        """The branch's name."""
        return self.name

    @operation("show branch", needs.branch(Action.READ_BRANCH))
    def record(self) -> BranchRecord:
        """The branch's record as it stands: head, staging token, layers."""
        return branches.get_branch(self._stores.kv, readable(self._stores, self._record.id), self.name).value

    @operation("put", needs.path(Action.WRITE_OBJECT))
    def put(
        self,
        path: str,
        data: bytes | BinaryIO,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Entry:
        """Upload content, then stage its entry. Gives the entry.

        Args:
            data: Bytes, or a file that gives bytes: it is read to its end.
        """
        uploaded = data.read() if hasattr(data, "read") else data
        return write.put(*self._at, path, write.Content(uploaded, content_type, metadata))

    @operation("stage", needs.path(Action.WRITE_OBJECT), of_entry)
    def stage(self, path: str, entry: Entry) -> Entry:
        """Stage an entry whose content is already in an object store. Gives it with its path and identity."""
        return write.stage(*self._at, path, entry)

    @operation("stage many", of_table)
    def stage_many(self, table: pa.Table) -> None:
        """Stage many entries at once: all of them are seen, or none.

        Args:
            table: `key` (text or bytes) and any columns of the entry schema (`graveler_core.model.entry.ENTRY_SCHEMA`).
                Rows whose `removed` (bool) is true remove their path.

        Raises:
            InvalidInput: a row breaks a rule, or a key occurs twice; nothing is staged.
            SlowDown: the branch has too many layers: commit or compact it first.
        """
        bulk.stage_records(*self._at, normalise(table))

    @operation("stage sorted", needs.under(Action.WRITE_OBJECT, Action.DELETE_OBJECT), needs.anything)
    def stage_sorted(self, rows: SortedRows) -> Written:
        """As `stage_many`, of rows that lie on many machines, which write them as files. See `jobs.stage`.

        Raises:
            InvalidInput: as `stage_many`.
            SlowDown: as `stage_many`; before any row is looked at, and once more when all are written.
        """
        return bulk.stage_sorted(*self._at, rows)

    @operation("remove", needs.path(Action.DELETE_OBJECT))
    def remove(self, path: str) -> None:
        """Remove a path. No error, and no change, where it does not exist."""
        remove.remove(*self._at, [path])

    @operation("remove many", needs.paths(Action.DELETE_OBJECT))
    def remove_many(self, paths: Iterable[str]) -> None:
        """Remove many paths at once: all of them are gone, or none."""
        remove.remove_many(*self._at, many_paths(paths))

    @operation("remove prefix", needs.under(Action.DELETE_OBJECT))
    def remove_prefix(self, prefix: str) -> None:
        """Remove everything under a prefix ("" for everything), at the cost of one line in the branch record."""
        prefix_key(prefix)
        bulk.remove_prefix(*self._at, prefix)

    @operation("get", needs.path(Action.READ_OBJECT))
    def get(self, path: str) -> Entry:
        """The entry at a path, staged changes included. Raises `NotFound` (`PathNotFound`)."""
        return self._get(path)

    @operation("read", needs.path(Action.READ_OBJECT))
    def read(self, path: str) -> bytes:
        """The content at a path, staged changes included."""
        return content.read_content(self._stores, readable(self._stores, self._record.id), self._get(path))

    @operation("list", needs.under(*needs.SHOWN))
    def list(
        self, prefix: str = "", after: str = "", delimiter: str = "", limit: int | None = None
    ) -> Listing[Entry | CommonPrefix]:
        """Entries under a prefix, staged changes included; see `Snapshot.list`."""
        return listed(partial(read.entries_page, *self._at), prefix, after, delimiter, limit)

    @operation("list uncommitted", needs.under(*needs.SHOWN))
    def uncommitted(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Change]:
        """What is staged and differs from the branch's head, in order of the paths, lazily."""
        return Listing(self._changes(prefix_key(prefix), prefix_key(after)), lambda change: change.path, limit)

    @operation("list staged", needs.under(*needs.SHOWN))
    def staged(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[StagedRecord]:
        """The records of the branch's layers, of each path the newest, in order of the paths, lazily.

        Entries and tombstones, also those that change nothing. Removals by prefix are no records, and hide older ones;
        what was compacted is not staged any more: `uncommitted` shows what all of it comes to.
        """
        window = Window(prefix=prefix, after=after)
        pages = listing.tables(partial(read.staged_page, *self._at), window)
        return Listing((record for page in pages for record in staged_of(page)), lambda record: record.path, limit)

    @operation("commit", needs.branch(Action.CREATE_COMMIT), needs.signed())
    def commit(
        self,
        message: str,
        *,
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Commit everything staged.

        Args:
            idempotency_key: Names this call; a later call of the same key gives the commit that this one made.

        Raises:
            NoChanges: there is nothing to commit.
            Conflict: (`Discarded`) a reset took the changes meanwhile.
        """
        draft = Draft(message, committer, metadata or {}, allow_empty, idempotency_key)
        return commit_record(commit.commit(*self._at, draft))

    @operation("transact", needs.branch(Action.CREATE_COMMIT), of_operations, needs.signed())
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
        """Do operations (`Put`, `Remove`, `Unchanged`) in one commit, or none; nothing is staged.

        Args:
            on_conflict: Decides about each operation that does not fit what is there; refuses it when not given.
            on: The id of the commit that the branch's head must be; or a `Basis`, which names prefixes: only what lies
                under them must be as in that commit, and nothing be staged there.

        Raises:
            Conflict: (`TransactionConflict`) `details["conflicts"]` lists the operations that do not fit; (`LostRace`)
                the branch has moved on from `on`: look again, then repeat.
            DirtyBranch: some of the paths, or something under a prefix, are staged on the branch.
            NoChanges: the operations change nothing.
        """
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        basis = Basis(CommitId(on)) if isinstance(on, str) else on
        return commit_record(transact.transact(*self._at, transact.Transaction(operations, on_conflict, basis), draft))

    @operation("reset", needs.branch(Action.REVERT_BRANCH))
    def reset(self, prefix: str = "") -> None:
        """Discard what is staged: everything, or what lies under a prefix."""
        if prefix_key(prefix):
            bulk.restore_prefix(*self._at, prefix)
        else:
            reset.reset(*self._at)

    @operation("hard reset", needs.branch(Action.REVERT_BRANCH), named_anew("ref"))
    def hard_reset(self, ref: str) -> CommitRecord:
        """Move the head to the commit that a ref names. Raises `DirtyBranch` if anything is staged."""
        return commit_record(reset.hard_reset(*self._at, ref))

    @operation("compact", needs.branch(Action.MAINTAIN_REPOSITORY))
    def compact(self, *, every: timedelta = timedelta(0)) -> Compacted:
        """Fold what is staged into one tree, uncommitted as before, so that reading the branch is fast again.

        Args:
            every: Give way to a compaction that began less than this long ago.

        Raises:
            NoChanges: nothing is staged.
            SlowDown: (`CompactionUnderWay`) another one began too lately.
            Conflict: (`CompactionLost`) a commit, reset or bulk write came in between; nothing was changed.
        """
        return compaction_history.compact_and_remember(*self._at, every)

    @operation("pressure", needs.branch(Action.READ_BRANCH))
    def pressure(self, *, exact: bool = False) -> BranchPressure:
        """What is staged here, and whether it should be compacted.

        Args:
            exact: Count by reading all that is staged, and correct the counters; else go by them.
        """
        return (pressure.recount if exact else pressure.of_branch)(*self._at)

    @operation("list compactions", needs.branch(Action.READ_BRANCH))
    def compactions(self) -> CompactionHistory:
        """What compactions of this branch did."""
        return compaction_history.history(*self._at)

    @property
    def _place(self) -> Place:
        return on_branch(self._record.id, self.name)

    def _get(self, path: str) -> Entry:
        path_key(path)
        return required(read.get(*self._at, path), path, self.name)

    def _changes(self, prefix: bytes, after: bytes) -> Iterator[Change]:
        start, end = max(prefix, after + b"\0" if after else b""), prefix_end(prefix)
        while True:
            found = read.changes_page(*self._at, (start, end), PAGE_ROWS)
            yield from changes_of(found)
            if len(found) < PAGE_ROWS:
                return
            start = found.keys[-1].as_py() + b"\0"
