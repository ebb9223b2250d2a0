"""Merge: what the source changed since the merge base, onto the destination. Source: seeds 000 and 002.

1. Resolve both sides, fresh; refuse a dirty destination.
2. `three_way` decides and writes nothing; conflicts end the merge with all of them listed.
3. `apply` writes blobs; header and layout are written. All of it unreachable: a crash leaves garbage, nothing else.
4. ✓ One swap from the very record that was checked: head := merge commit (destination head, source head), no compacted
   tree (the check found it equal to the head). It makes the merge visible. A lost swap means that the destination
   moved or got a layer: everything is decided again.

An acknowledged write between check and swap does not change the branch record; it stays staged on top of the merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from graveler_core.committed.index.three_way import MergeInputs
from graveler_core.engine.advance import Tried, advance, find_operation
from graveler_core.engine.clean_branch import require_clean
from graveler_core.engine.combine import combine
from graveler_core.engine.draft import Content, Draft, begin_operation, build
from graveler_core.engine.history import base_of
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes
from graveler_core.engine.view import commit_of
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.ids import BranchId, Nonce, RepositoryId
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What to merge, into what, and who wins where both sides changed a path (None: nobody)."""

    source: str
    into: BranchId
    strategy: MergeStrategy | None = None


def merge(stores: Stores, repo: RepositoryId, request: MergeRequest, draft: Draft) -> StoredCommit:
    """Merge a ref into a branch; gives the merge commit, or the destination's head where there is nothing to merge.

    Raises:
        Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first thousand.
        DirtyBranch: the destination has uncommitted changes.
        NotFound: no such repository, ref or branch; or (`NoMergeBase`) the histories are unrelated.
    """
    tried = Tried()
    with stores.turns.turn(repo, request.into), tried.told():
        return _merge(stores, repo, request, draft, tried)


def _merge(stores: Stores, repo: RepositoryId, request: MergeRequest, draft: Draft, tried: Tried) -> StoredCommit:
    nonce = Nonce(stores.ids.fresh())
    source, into = request.source, request.into
    draft = draft if draft.message else replace(draft, message=f"Merge {source!r} into {into!r}")
    for _ in attempts(stores, f"merge into {repo}/{into}"):
        registers = fresh(stores, repo, into)
        if draft.idempotency_key:
            floor = begin_operation(stores, registers, draft.idempotency_key)
            made = find_operation(stores, registers, draft.idempotency_key, floor)
            if made is not None:
                return made
        require_clean(stores, registers, "merging into it")
        ours = commit_of(stores, registers.repository, registers.branch.commit_id)
        theirs = resolve_commit(stores, registers.repository, source)
        base = base_of(stores, registers.repository, theirs, ours)
        if base.id == theirs.id:
            if same_content(registers, fresh(stores, repo, into)):
                return ours
            continue
        inputs = MergeInputs(*(side.layout.index for side in (base, theirs, ours)))
        applied = combine(stores, registers.repository, inputs, request.strategy)
        content = Content(applied.index, applied.operations, (ours, theirs), nonce)
        commit, writes = build(stores, registers, draft, content)
        record_writes(stores, [*applied.writes, *writes])
        record = registers.branch.model_copy(update={"commit_id": commit.id, "compacted_metarange": None})
        if advance(stores, registers, record, commit.id, tried):
            return commit
    raise AssertionError("attempts() raises when it ends")
