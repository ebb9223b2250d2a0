"""Transact: operations checked against the head and committed in one step, without staging. Source: seed 002.

1. Records, fresh. An operation on a path that is staged is refused: any layer down to the first restoration over the
   path has a record of it or a removal over it, or the compacted tree differs from the head there.
2. What the paths hold at the head: index lookups; all conflicts together end the call.
3. Apply to the head, and to the compacted tree where there is one: else the next commit would revert it. Blobs, then
   header and layout; unreachable until the swap. A crash leaves garbage, nothing else.
4. ✓ One swap from the very record that was checked: head := commit, compacted tree := its new version, layers stay. It
   makes the transaction visible. A lost swap means that the branch moved: the paths are looked up again on the new
   head.

A write of one of the paths that is acknowledged after the check orders after the transaction, and stays staged on top.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.codec.entry import entries, record_table
from graveler_core.committed.apply import apply
from graveler_core.committed.lookup import lookup_many
from graveler_core.engine.advance import advance, find_operation
from graveler_core.engine.draft import Content, Draft, begin_operation, build
from graveler_core.engine.registers import fresh
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes
from graveler_core.engine.validation import Arbiter, fail, normalised, validate, with_content_ids
from graveler_core.engine.view import View, commit_of, view_of
from graveler_core.errors import DirtyBranch, NoChanges
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, MetarangeId, Nonce, RepositoryId
from graveler_core.model.operations import Operation, Put
from graveler_core.objects.commits import StoredCommit
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Transaction:
    """Operations on distinct paths, and who decides about their conflicts."""

    operations: Sequence[Operation]
    arbiter: Arbiter = fail


def transact(
    stores: Stores, repo: RepositoryId, branch: BranchId, transaction: Transaction, draft: Draft
) -> StoredCommit:
    """Do all operations in one commit, or none.

    Raises:
        Conflict: (`TransactionConflict`) `details["conflicts"]` lists every operation that does not fit what is there.
        DirtyBranch: some of the paths are staged on the branch; `details["paths"]` names them.
        NoChanges: the operations change nothing.
        InvalidInput: a path twice, a content id twice, or a bad entry.
    """
    with stores.turns.turn(repo, branch):
        return _transact(stores, repo, branch, transaction, draft)


def _transact(
    stores: Stores, repo: RepositoryId, branch: BranchId, transaction: Transaction, draft: Draft
) -> StoredCommit:
    operations = normalised(transaction.operations)
    drawn = {o.path: uuid.UUID(stores.ids.fresh()) for o in operations if isinstance(o, Put) and o.expected is None}
    nonce = Nonce(stores.ids.fresh())
    for _ in attempts(stores, f"transaction on {repo}/{branch}"):
        registers = fresh(stores, repo, branch)
        if draft.idempotency_key:
            floor = begin_operation(stores, registers, draft.idempotency_key)
            made = find_operation(stores, registers, draft.idempotency_key, floor)
            if made is not None:
                return made
        view = view_of(stores, registers)
        paths = sorted({operation.path for operation in operations})
        existing = _existing(view, view.head, paths)
        _require_unstaged(view, paths, existing)
        outcome = validate(operations, existing, transaction.arbiter)
        changes = record_table(with_content_ids(outcome, drawn))
        applied = apply(view.trees, view.head, changes, mapper=stores.executor.map)
        if applied.metarange_id == view.head and not draft.allow_empty:
            raise NoChanges(f"branch {branch!r}: the transaction changes nothing", commit=registers.branch.commit_id)
        compacted = _compacted(stores, view, changes)
        head = commit_of(stores, registers.repository, registers.branch.commit_id)
        content = Content(applied.metarange_id, applied.operations, (head,), nonce)
        commit, writes = build(stores, registers, draft, content)
        record_writes(stores, writes)
        if _advanced(stores, registers, commit, compacted):
            return commit
    raise AssertionError("attempts() raises when it ends")


def _existing(view: View, tree: MetarangeId, paths: Sequence[str]) -> dict[str, Entry]:
    found = lookup_many(view.trees, tree, sorted(path.encode() for path in paths))
    return {entry.path: entry for entry in entries(found)}


def _require_unstaged(view: View, paths: Sequence[str], existing: dict[str, Entry]) -> None:
    answers = staged.lookup_many(view.stack, paths)
    compacted = existing if view.compacted is None else _existing(view, view.compacted, paths)
    dirty = [
        path
        for path, answer in zip(paths, answers, strict=True)
        if answer not in (Source.BASE, Source.HEAD) or (answer is Source.BASE and _differs(path, existing, compacted))
    ]
    if dirty:
        raise DirtyBranch(
            f"transaction: {len(dirty)} of its paths are staged on the branch, the first is {dirty[0]!r}; "
            "commit or reset them first",
            paths=dirty,
        )


def _differs(path: str, head: dict[str, Entry], compacted: dict[str, Entry]) -> bool:
    identities = [tree[path].identity if path in tree else None for tree in (head, compacted)]
    return identities[0] != identities[1]


def _compacted(stores: Stores, view: View, changes: pa.Table) -> MetarangeId | None:
    if view.compacted is None:
        return None
    return apply(view.trees, view.compacted, changes, mapper=stores.executor.map).metarange_id


def _advanced(stores: Stores, registers: Registers, commit: StoredCommit, compacted: MetarangeId | None) -> bool:
    record = registers.branch.model_copy(update={"commit_id": commit.id, "compacted_metarange": compacted})
    return advance(stores, registers, record, commit.id)
