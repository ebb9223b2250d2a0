"""Transact: check operations against the head and commit them in one step, without staging. Source: seed 002.

1. Read the records, bypassing the cache. If the caller states a basis, the branch must still have it
   (`engine.committing.basis`). An operation on a staged path is refused. Only layers newer than the newest prefix
   restoration of a path count. The path is staged if one of them has a record of the path or is a prefix removal that
   covers it. Without such a restoration, the path is also staged if the compacted tree differs from the head at the
   path. The lookup of staged paths also reads the repository record again, because the content of an entry may have
   been erased (`engine.staging.kept_content`).
2. Look up the paths in the index of the head. If there are conflicts, the call fails and reports all of them.
3. Apply the operations to the head and, if there is one, to the compacted tree. Otherwise the next commit would
   revert them. Blobs are written. Nothing refers to them until the swap. A crash leaves only garbage.
4. ✓ Write header and layout, and swap from the same record that was checked: the head becomes the commit, the
   compacted tree becomes its new version, and the layers stay. This makes the transaction visible. A failed swap means
   that another flow changed the branch record: the paths are looked up again on the new head.

A write to one of the paths that is acknowledged after the check is ordered after the transaction, and stays staged
on top. A refusal ends with a closing re-read: staged changes of the paths may have been committed and dropped
between the read of the records and the check, and then the paths have other content than the one that was checked.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from graveler_core.blobs.created_once import CreatedOnce
from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import record_table
from graveler_core.codec.records import decode
from graveler_core.codec.staged_record import encode_entry, encode_tombstone
from graveler_core.committed.index.successor import Successor, on_metarange, small_successor, successor
from graveler_core.engine.committing.basis import require_basis
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.existing import ExistingEntries, existing_entries
from graveler_core.engine.committing.head import HeadMove, NewHead, move_head
from graveler_core.engine.committing.validation import Arbiter, fail, normalised, validate, with_content_ids
from graveler_core.engine.reading.view import BranchView, commit_of, view_of
from graveler_core.engine.staging.kept_content import require_kept
from graveler_core.errors import DirtyBranch, InvalidInput, NoChanges
from graveler_core.kv.store import Stored
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, MetarangeId, Nonce, RepositoryId, RepositoryUid
from graveler_core.model.operations import Basis, Operation, Put
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import layout as keys
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource
from graveler_core.staging.stack import Staged
from graveler_core.stores import Registers, Stores

Outcome: TypeAlias = list[tuple[bytes, Entry | None]]
"""Changes to write, sorted by key: an entry, or `None` for a removal."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """Operations on distinct paths, and the function that decides about their conflicts."""

    operations: Sequence[Operation]
    arbiter: Arbiter = fail
    basis: Basis | None = None
    """State that the branch must still have."""
    removed: bool = False
    """Also accept paths whose staged change is a removal. Used by operations that remove."""

    def __post_init__(self) -> None:
        if self.basis is not None and not isinstance(self.basis, Basis):
            raise InvalidInput(f"transaction: basis {self.basis!r} must be the id of a commit, a Basis or None")


@dataclass(frozen=True, slots=True)
class _Call:
    """Values that stay the same over all attempts."""

    operations: Sequence[Operation]
    paths: Sequence[str]
    arbiter: Arbiter
    drawn: Mapping[str, uuid.UUID]
    """Fresh content ids for new entries, by path."""
    nonce: Nonce
    basis: Basis | None
    removed: bool
    created: dict[RepositoryUid, Blobs] = field(default_factory=dict)
    """Object stores that skip repeated writes, by unique id of the repository."""


def transact(
    stores: Stores, repo: RepositoryId, branch: BranchId, transaction: Transaction, draft: Draft
) -> StoredCommit:
    """Execute all operations in one commit, or none.

    Raises:
        Conflict: Operations do not fit the current entries (`TransactionConflict`); `details["conflicts"]` lists all
            of them. Or the branch no longer has the basis of the transaction (`LostRace`).
        DirtyBranch: Some of the paths are staged on the branch. `details["paths"]` names them.
        NoChanges: The operations change nothing.
        PermissionDenied: The branch is protected from commits, the repository is read-only, or a hook has refused the
            commit (`HookRefused`).
        NotFound, OutcomeUnknown, SlowDown: As for `move_head`.
        InvalidInput: A path or a content id occurs twice, or an entry is invalid.
    """
    prepare = partial(_prepare, stores, _call(stores, transaction), draft)
    return move_head(stores, HeadMove("transaction on", repo, branch, draft, prepare))


def _call(stores: Stores, transaction: Transaction) -> _Call:
    operations = normalised(transaction.operations)
    puts = (operation for operation in operations if isinstance(operation, Put) and not operation.exact)
    drawn = {put.path: uuid.UUID(stores.ids.fresh()) for put in puts if put.expected is None}
    paths = sorted({operation.path for operation in operations})
    return _Call(
        operations, paths, transaction.arbiter, drawn, Nonce(stores.ids.fresh()), transaction.basis, transaction.removed
    )


def _prepare(stores: Stores, call: _Call, draft: Draft, registers: Registers) -> NewHead:
    """Check the operations against one branch record, and prepare everything that the swap makes visible."""
    view = view_of(stores, registers)
    trees = view.indexes.trees
    created = call.created.setdefault(registers.repository.uid, CreatedOnce(trees.blobs))
    view = replace(view, indexes=replace(view.indexes, trees=replace(trees, blobs=created)))
    if call.basis is not None:
        require_basis(stores, registers, view, call.basis)
    existing = _existing(view, call)
    again = _require_unstaged(view, call, existing)
    outcome = with_content_ids(validate(call.operations, existing, call.arbiter), call.drawn)
    _require_kept(stores, registers, again, (entry for _, entry in outcome if entry is not None))
    made = _successor(stores, view, existing, outcome)
    if made.effective == 0 and not draft.allow_empty:
        branch = registers.branch
        raise NoChanges(f"branch {branch.id!r}: the transaction changes nothing", commit=branch.commit_id)
    compacted = _compacted(stores, view, outcome)
    head = commit_of(stores, registers.repository, registers.branch.commit_id)
    commit, writes = new_commit(
        stores, registers, draft, CommitContent(made.index, made.operations, (head,), call.nonce)
    )
    return NewHead(commit, [*made.writes, *writes], compacted)


def _existing(view: BranchView, call: _Call) -> ExistingEntries:
    """Look up the paths in the head. Entries are read if an operation expects one, or the compacted tree may differ."""
    expecting = (each for each in call.operations if not isinstance(each, Put) or each.expected is not None)
    compared = call.paths if view.compacted is not None else {operation.path for operation in expecting}
    return existing_entries(view.indexes, view.head, call.paths, compared)


def _successor(stores: Stores, view: BranchView, existing: ExistingEntries, outcome: Outcome) -> Successor:
    if len(outcome) > view.indexes.sizes.small_elements:
        return successor(view.indexes, view.head, record_table(outcome), mapper=stores.executor.map)
    changes = [(key, encode_tombstone() if entry is None else encode_entry(entry)) for key, entry in outcome]
    held = {key: existing.beginning(key.decode()) for key, _ in outcome}
    return small_successor(view.indexes, view.head, changes, held, mapper=stores.executor.map)


def _require_unstaged(view: BranchView, call: _Call, existing: ExistingEntries) -> Stored | None:
    """Refuse staged paths. Return the repository record, if the transaction needs it again: see `_require_kept`."""
    where = keys.repository(view.indexes.objects.repository.id)
    puts = any(isinstance(operation, Put) for operation in call.operations)
    rows = [(where.partition, where.key)] if puts else []
    answers, beside = staged.lookup_beside(view.stack, call.paths, rows)
    below = existing
    if view.compacted is not None:
        below = existing_entries(view.indexes, view.compacted, call.paths, call.paths)
    dirty = [
        path
        for path, answer in zip(call.paths, answers, strict=True)
        if _is_staged(answer, existing.beginning(path), below.beginning(path), removed=call.removed)
    ]
    if dirty:
        raise DirtyBranch(
            f"transaction: {len(dirty)} of its paths are staged on the branch, the first is {dirty[0]!r}; "
            "commit or reset them first",
            paths=dirty,
        )
    return next(iter(beside), None)


def _require_kept(stores: Stores, registers: Registers, again: Stored | None, entries: Iterable[Entry]) -> None:
    """Call `require_kept` with the repository record that was read after the branch record, unless it was replaced."""
    repo = _later(registers.repository, again)
    require_kept(stores, repo or registers.repository, entries, swaps=repo is None)


def _later(repo: RepositoryRecord, again: Stored | None) -> RepositoryRecord | None:
    if again is None:
        return None
    where = keys.repository(repo.id)
    later = decode(where.model, again.value, where.name)
    return later if later.uid == repo.uid else None


def _is_staged(answer: Staged | LookupSource, head: bytes, compacted: bytes, *, removed: bool) -> bool:
    """Return `True` if a path is staged, given its newest record and the identities of its entries in the trees below.

    Args:
        answer: The newest record, or the tree that shows the entry.
        head: Identity of the entry in the head, b"" if there is none.
        compacted: The same of the compacted tree, or of the head if there is no compacted tree.
        removed: Do not count a removal.
    """
    if answer is LookupSource.HEAD:
        return False
    if answer is LookupSource.BASE:
        return head != compacted and not (removed and not compacted)
    if answer is LookupSource.NOTHING:
        return not removed
    return not removed or (isinstance(answer, Staged) and answer.entry is not None)


def _compacted(stores: Stores, view: BranchView, outcome: Outcome) -> MetarangeId | None:
    if view.compacted is None:
        return None
    changes = record_table(outcome)
    return on_metarange(view.indexes, view.compacted, changes, mapper=stores.executor.map).index.metarange_id
