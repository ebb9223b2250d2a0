"""Transplant, cherry-pick and revert: apply the changes of commits to a branch. Source: seed 002.

1. Read the records, bypassing the cache. Refuse a dirty destination.
2. Each step takes the changes from one tree to another (for a cherry-pick: from a commit's parent to the commit; for
   a revert: from the commit to its parent) and applies them to the tree of the previous step. Steps that change
   nothing are left out. Blobs, headers and layouts are written, and nothing refers to them until the swap. A crash
   leaves only garbage.
3. ✓ Swap once for all steps, from the same record that was checked: the head becomes the last commit, and the
   compacted tree becomes none (the check found it equal to the head). A failed swap means that the destination moved:
   everything is decided again.

If no step changes anything, no swap proves that the branch record is current. The call therefore ends with a closing
re-read, and raises `NoChanges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.three_way import MergeInputs
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.head import HeadMove, NewHead, move_head
from graveler_core.engine.merging.combine import ConflictWords, combine
from graveler_core.engine.protocol.registers import require_repository
from graveler_core.engine.protocol.swap import Write, record_writes
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.reading.uncommitted import require_clean
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import InvalidInput, NoChanges
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.counting import counted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, Stores

MAX_SUBJECT = 200
"""Maximum number of characters of a commit's first line in the message of its revert."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Commits to replay, oldest first, and the options."""

    refs: Sequence[str]
    strategy: MergeStrategy | None = None
    mainline: int = 1
    """Number of the parent, from 1, against which the changes of a merge commit are computed."""
    verb: Literal["transplant", "cherry-pick", "revert"] = "transplant"
    """Name of the operation in messages. A revert undoes the commits instead of repeating them."""

    @property
    def backwards(self) -> bool:
        return self.verb == "revert"

    def __post_init__(self) -> None:
        if isinstance(self.refs, str) or not isinstance(self.refs, Sequence) or not self.refs:
            raise InvalidInput(f"{self.verb}: {self.refs!r} must be a list of one or more commits")
        if not isinstance(self.mainline, int):
            raise InvalidInput(f"mainline {self.mainline!r}: must be the number of a parent, from 1")


@dataclass(frozen=True, slots=True)
class _Step:
    """Changes of one commit, from one tree to another, and the draft of the commit that repeats it."""

    commit: StoredCommit
    content: CommitId
    """Commit from which the entries are taken: for a revert, the parent."""
    base: Index
    source: Index
    draft: Draft


@dataclass(slots=True)
class _Call:
    """Values that stay the same over all attempts."""

    replay: Replay
    draft: Draft
    nonces: Sequence[Nonce]
    """Nonces of the new commits, one for each step."""
    steps: Sequence[_Step] = ()
    """Steps; read in the first attempt."""


def transplant(stores: Stores, repo: RepositoryId, onto: BranchId, replay: Replay, draft: Draft) -> StoredCommit:
    """Replay commits on a branch in one step. Return the branch's new head.

    A replayed commit keeps its message, committer and metadata unless the draft has its own message. Commits that
    are replayed on their own base in their own order stay the same: the branch moves to the last of them.

    Raises:
        Conflict: The branch changed the same paths (`MergeConflict`).
        DirtyBranch: The branch has uncommitted changes.
        NoChanges: None of the commits changes anything here.
        PermissionDenied: The branch is protected from commits, or the repository is read-only.
        InvalidInput: A commit is not a parent of the next one, or a commit does not have the given parent.
        NotFound: A commit does not exist, or content has expired (`ContentExpired`): that of a commit or, for a revert,
            that of its parent.
    """
    call = _Call(replay, draft, [Nonce(stores.ids.fresh()) for _ in replay.refs])
    # Other errors depend only on the records that were read. `NoChanges` may be out of date.
    move = HeadMove("transplant onto", repo, onto, draft, partial(_prepare, stores, call), reread=(NoChanges,))
    return move_head(stores, move)


def _prepare(stores: Stores, call: _Call, registers: Registers) -> NewHead:
    require_clean(stores, registers, "commits are replayed on it")
    # Refs are resolved once: a name keeps its meaning from the start of the call, even if another flow moves that
    # branch.
    call.steps = call.steps or _steps(stores, registers.repository, call.replay, call.draft)
    parents = {parent for step in call.steps for parent in step.commit.header.parents}
    require_content(stores, registers.repository, [step.content for step in call.steps], parents=parents)
    steps = list(zip(call.steps, call.nonces, strict=True))
    head = _build(stores, registers, steps, call.replay, call.draft)
    if head is None:
        branch = registers.branch
        raise NoChanges(f"branch {branch.id!r}: the commits change nothing here", commit=branch.commit_id)
    return head


def _steps(stores: Stores, repo: RepositoryRecord, replay: Replay, draft: Draft) -> list[_Step]:
    commits = [resolve_commit(stores, repo, ref) for ref in replay.refs]
    if not replay.backwards:
        for older, newer in pairwise(commits):
            if older.id not in newer.header.parents:
                raise InvalidInput(
                    f"transplant: commit {older.id[:12]} is not a parent of {newer.id[:12]}; name them oldest first"
                )
    return [_step(stores, repo, commit, replay, draft) for commit in commits]


def _build(
    stores: Stores, registers: Registers, steps: Sequence[tuple[_Step, Nonce]], replay: Replay, draft: Draft
) -> NewHead | None:
    """Prepare everything that the swap makes visible. Return the new head, or `None` if nothing changes."""
    head = commit_of(stores, registers.repository, registers.branch.commit_id)
    if _is_fast_forward([step.commit for step, _ in steps], head, replay, draft):
        return NewHead(steps[-1][0].commit)
    made, writes = _replayed(stores, registers, head, steps, replay)
    if made.id == head.id:
        return None
    return NewHead(made, writes)


def _is_fast_forward(commits: Sequence[StoredCommit], head: StoredCommit, replay: Replay, draft: Draft) -> bool:
    """Return `True` if the commits would be repeated unchanged: on their own base, with the same texts.

    A merge commit is always repeated, because the original would add the history of its other side. Commits of a
    call with an idempotency key are also repeated, because they carry the key.
    """
    chained = all(commit.header.parents == (before.id,) for before, commit in pairwise([head, *commits]))
    return chained and draft == Draft("") and not replay.backwards


def _step(stores: Stores, repo: RepositoryRecord, commit: StoredCommit, replay: Replay, draft: Draft) -> _Step:
    parents = commit.header.parents
    if not 1 <= replay.mainline <= len(parents):
        raise InvalidInput(
            f"commit {commit.id[:12]}: has {counted(len(parents), 'parent')}, and no parent number {replay.mainline}"
        )
    parent = parents[replay.mainline - 1]
    before, after = commit_of(stores, repo, parent).layout.index, commit.layout.index
    if replay.backwards:
        message = draft.message or _reverting(commit)
        return _Step(commit, parent, after, before, replace(draft, message=message))
    header = commit.header
    words = replace(
        draft,
        message=draft.message or header.message,
        committer=draft.committer or header.committer,
        metadata={**header.metadata, **draft.metadata},
    )
    return _Step(commit, commit.id, before, after, words)


def _reverting(commit: StoredCommit) -> str:
    subject = commit.header.message.partition("\n")[0][:MAX_SUBJECT]
    return f'Revert "{subject}"\n\nThis reverts commit {commit.id}.'


def _words(replay: Replay, commit: StoredCommit, registers: Registers) -> ConflictWords:
    changed = f"{replay.verb} of commit {commit.id[:12]}: branch {registers.branch.id!r} has other changes of"
    if replay.verb == "transplant":
        return ConflictWords(changed, "choose a strategy, or change the branch")
    return ConflictWords(changed, "change the branch first")


def _replayed(
    stores: Stores,
    registers: Registers,
    head: StoredCommit,
    steps: Sequence[tuple[_Step, Nonce]],
    replay: Replay,
) -> tuple[StoredCommit, list[Write]]:
    """Return the last commit of the replay, and the writes that store all commits."""
    at, written = head, list[Write]()
    for step, nonce in steps:
        inputs = MergeInputs(step.base, step.source, at.layout.index)
        applied = combine(
            stores, registers.repository, inputs, MergeRules(replay.strategy), _words(replay, step.commit, registers)
        )
        if applied.effective == 0 and not step.draft.allow_empty:
            continue
        require_repository(stores, registers)
        record_writes(stores, applied.writes)  # the next step reads them
        content = CommitContent(applied.index, applied.operations, (at,), nonce)
        at, writes = new_commit(stores, registers, step.draft, content)
        written += writes
    return at, written
