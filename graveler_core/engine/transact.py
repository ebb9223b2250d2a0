"""Transact: operations checked against the head and committed in one step, without staging. Source: seed 002.

1. Records, fresh. Where the author says what it looked at, the branch must hold it still (`engine.basis`). An operation
   on a path that is staged is refused: any layer down to the first restoration over the path has a record of it or a
   removal over it, or the compacted tree differs from the head there.
2. What the paths hold at the head: index lookups; all conflicts together end the call.
3. Apply to the head, and to the compacted tree where there is one: else the next commit would revert it. Blobs, then
   header and layout; unreachable until the swap. A crash leaves garbage, nothing else.
4. ✓ One swap from the very record that was checked: head := commit, compacted tree := its new version, layers stay. It
   makes the transaction visible. A lost swap means that the branch moved: the paths are looked up again on the new
   head.

A write of one of the paths that is acknowledged after the check orders after the transaction, and stays staged on top.

A refusal ends with a closing re-read: what was staged on the paths may have been committed and dropped between the
records and the look at it, and then the paths hold something else than what was judged.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from graveler_core.blobs.created_once import CreatedOnce
from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import entries, record_table
from graveler_core.codec.staged_record import encode_entry, encode_tombstone
from graveler_core.committed.index.lookup import lookup_few, lookup_many
from graveler_core.committed.index.successor import Successor, on_metarange, small_successor, successor
from graveler_core.engine.advance import Tried, advance
from graveler_core.engine.basis import require_basis
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.earlier import made_by_call, made_under_key
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes, without_layer
from graveler_core.engine.validation import Arbiter, fail, normalised, validate, with_content_ids
from graveler_core.engine.view import View, commit_of, view_of
from graveler_core.errors import Conflict, CorruptData, DirtyBranch, InvalidInput, NoChanges
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, Nonce, RepositoryId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.model.operations import Basis, Operation, Put
from graveler_core.model.protection import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source
from graveler_core.stores import Registers, Stores

Outcome: TypeAlias = list[tuple[bytes, Entry | None]]
"""What to write, sorted by key: entries, and None for what goes."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """Operations on distinct paths, and who decides about their conflicts."""

    operations: Sequence[Operation]
    arbiter: Arbiter = fail
    basis: Basis | None = None
    """What the branch must hold still."""

    def __post_init__(self) -> None:
        if self.basis is not None and not isinstance(self.basis, Basis):
            raise InvalidInput(f"transaction: on {self.basis!r}: must be the id of a commit, a Basis or None")


@dataclass(frozen=True, slots=True)
class _Call:
    """What stays the same over all attempts."""

    operations: Sequence[Operation]
    paths: Sequence[str]
    arbiter: Arbiter
    drawn: Mapping[str, uuid.UUID]
    """Content ids for new entries, by path."""
    nonce: Nonce
    basis: Basis | None
    created: dict[RepositoryUid, Blobs] = field(default_factory=dict)
    """Blobs that write nothing twice."""


@dataclass(frozen=True, slots=True)
class _Built:
    """What one attempt would make visible."""

    commit: StoredCommit
    compacted: MetarangeId | None


def transact(
    stores: Stores, repo: RepositoryId, branch: BranchId, transaction: Transaction, draft: Draft
) -> StoredCommit:
    """Do all operations in one commit, or none.

    Raises:
        Conflict: (`TransactionConflict`) `details["conflicts"]` lists every operation that does not fit what is there;
            (`LostRace`) the branch does not hold any more what the transaction is based on.
        DirtyBranch: some of the paths are staged on the branch; `details["paths"]` names them.
        NoChanges: the operations change nothing.
        PermissionDenied: the branch is protected from commits, or the repository is read-only.
        InvalidInput: a path twice, a content id twice, or a bad entry.
    """
    tried = Tried()
    with stores.turns.turn(repo, branch), tried.told():
        return _transact(stores, (repo, branch), transaction, draft, tried)


def _transact(
    stores: Stores, where: tuple[RepositoryId, BranchId], transaction: Transaction, draft: Draft, tried: Tried
) -> StoredCommit:
    repo, branch = where
    call = _call(stores, transaction)
    began: CommitId | None = None
    for _ in attempts(stores, f"transaction on {repo}/{branch}"):
        registers = fresh(stores, repo, branch)
        began = began or registers.branch.commit_id
        made = made_under_key(stores, registers, draft) or made_by_call(stores, registers, tried, began)
        if made is not None:
            return made
        require_permitted(registers, Action.COMMIT)
        try:
            built = _build(stores, registers, call, draft)
        except CorruptData as missing:
            without_layer(stores, registers, missing)
            continue
        except (Conflict, DirtyBranch, NoChanges):
            if same_content(registers, fresh(stores, repo, branch)):
                raise
            continue
        record = registers.branch.model_copy(
            update={"commit_id": built.commit.id, "compacted_metarange": built.compacted}
        )
        if advance(stores, registers, record, built.commit.id, tried):
            return built.commit
    raise AssertionError("attempts() raises when it ends")


def _call(stores: Stores, transaction: Transaction) -> _Call:
    operations = normalised(transaction.operations)
    new = [operation.path for operation in operations if isinstance(operation, Put) and operation.expected is None]
    drawn = {path: uuid.UUID(stores.ids.fresh()) for path in new}
    paths = sorted({operation.path for operation in operations})
    return _Call(operations, paths, transaction.arbiter, drawn, Nonce(stores.ids.fresh()), transaction.basis)


def _build(stores: Stores, registers: Registers, call: _Call, draft: Draft) -> _Built:
    """Check the operations against one branch record, and write all that the swap will make visible."""
    view = view_of(stores, registers)
    trees = view.indexes.trees
    created = call.created.setdefault(registers.repository.uid, CreatedOnce(trees.blobs))
    view = replace(view, indexes=replace(view.indexes, trees=replace(trees, blobs=created)))
    if call.basis is not None:
        require_basis(stores, registers, view, call.basis)
    existing = _held(view, view.head, call.paths)
    _require_unstaged(view, call.paths, existing)
    outcome = with_content_ids(validate(call.operations, existing, call.arbiter), call.drawn)
    made = _successor(stores, view, existing, outcome)
    if made.effective == 0 and not draft.allow_empty:
        branch = registers.branch
        raise NoChanges(f"branch {branch.id!r}: the transaction changes nothing", commit=branch.commit_id)
    compacted = _compacted(stores, view, outcome)
    head = commit_of(stores, registers.repository, registers.branch.commit_id)
    commit, writes = build(stores, registers, draft, Content(made.index, made.operations, (head,), call.nonce))
    record_writes(stores, [*made.writes, *writes])
    return _Built(commit, compacted)


def _held(view: View, index: Index, paths: Sequence[str]) -> dict[str, Entry]:
    keys = sorted(path.encode() for path in paths)
    if len(keys) <= view.indexes.sizes.small_elements:
        found = lookup_few(view.indexes, index, keys)
        return {entry.path: entry for entry in found if entry is not None}
    return {entry.path: entry for entry in entries(lookup_many(view.indexes, index, keys))}


def _successor(stores: Stores, view: View, existing: Mapping[str, Entry], outcome: Outcome) -> Successor:
    if len(outcome) > view.indexes.sizes.small_elements:
        return successor(view.indexes, view.head, record_table(outcome), mapper=stores.executor.map)
    changes = [(key, encode_tombstone() if entry is None else encode_entry(entry)) for key, entry in outcome]
    held = {key: _identity(existing.get(key.decode())) for key, _ in outcome}
    return small_successor(view.indexes, view.head, changes, held, mapper=stores.executor.map)


def _require_unstaged(view: View, paths: Sequence[str], existing: dict[str, Entry]) -> None:
    answers = staged.lookup_many(view.stack, paths)
    compacted = existing if view.compacted is None else _held(view, view.compacted, paths)
    dirty = [
        path
        for path, answer in zip(paths, answers, strict=True)
        if answer not in (Source.BASE, Source.HEAD)
        or (answer is Source.BASE and _identity(existing.get(path)) != _identity(compacted.get(path)))
    ]
    if dirty:
        raise DirtyBranch(
            f"transaction: {len(dirty)} of its paths are staged on the branch, the first is {dirty[0]!r}; "
            "commit or reset them first",
            paths=dirty,
        )


def _identity(entry: Entry | None) -> bytes:
    return b"" if entry is None else entry.identity


def _compacted(stores: Stores, view: View, outcome: Outcome) -> MetarangeId | None:
    if view.compacted is None:
        return None
    changes = record_table(outcome)
    return on_metarange(view.indexes, view.compacted, changes, mapper=stores.executor.map).index.metarange_id
