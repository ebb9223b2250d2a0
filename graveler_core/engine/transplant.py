"""Replaying commits on another branch: transplant, cherry-pick, revert. Source: seed 002, merge and transplant.

1. Records, fresh; a dirty destination is refused.
2. Each step takes what leads from one tree to another (for a cherry-pick: a commit's parent to the commit; for a
   revert: the commit to its parent) and applies it to the tree that the step before gave. Steps that change nothing
   are left out. Blobs, headers and layouts are written; unreachable until the swap. A crash leaves garbage, nothing
   else.
3. ✓ One swap for all steps, from the very record that was checked: head := the last commit, no compacted tree (the
   check found it equal to the head). A lost swap means that the destination moved: everything is decided again.

Where no step changes anything no swap proves the branch: the call ends with a closing re-read, then `NoChanges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from graveler_core.committed.index.resolutions import Rules
from graveler_core.committed.index.three_way import MergeInputs
from graveler_core.engine.advance import Tried, advance
from graveler_core.engine.clean_branch import require_clean
from graveler_core.engine.combine import combine
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.earlier import made_by_call, made_under_key
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import Write, record_writes
from graveler_core.engine.view import commit_of
from graveler_core.errors import InvalidInput, NoChanges
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId
from graveler_core.model.index import Index
from graveler_core.model.protection import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, Stores

MAX_SUBJECT = 200
"""Characters of a commit's first line in the message of its revert."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Commits to replay, oldest first, and how."""

    refs: Sequence[str]
    strategy: MergeStrategy | None = None
    mainline: int = 1
    """Which parent of a merge commit counts as what it changed, from 1."""
    backwards: bool = False
    """Revert instead of repeat."""

    def __post_init__(self) -> None:
        if isinstance(self.refs, str) or not isinstance(self.refs, Sequence) or not self.refs:
            raise InvalidInput(f"transplant: {self.refs!r} is no list of one commit or more")
        if not isinstance(self.mainline, int):
            raise InvalidInput(f"mainline {self.mainline!r}: must be the number of a parent, from 1")


@dataclass(frozen=True, slots=True)
class _Step:
    """What one commit does: from one tree to another, and the words of the commit that repeats it."""

    commit: StoredCommit
    base: Index
    source: Index
    draft: Draft


def transplant(stores: Stores, repo: RepositoryId, onto: BranchId, replay: Replay, draft: Draft) -> StoredCommit:
    """Replay commits on a branch in one step; gives the branch's new head.

    A replayed commit keeps its message, committer and metadata unless the draft has its own message. Commits that are
    replayed on their own base in their own order stay what they are: the branch moves to the last of them.

    Raises:
        Conflict: (`MergeConflict`) the branch changed the same paths.
        DirtyBranch: the branch has uncommitted changes.
        NoChanges: none of the commits changes anything here.
        PermissionDenied: the branch is protected from commits, or the repository is read-only.
        InvalidInput: the commits are not each other's parents, oldest first; or a commit has no such parent.
    """
    tried = Tried()
    with stores.turns.turn(repo, onto), tried.told():
        return _transplant(stores, (repo, onto), replay, draft, tried)


def _transplant(
    stores: Stores, where: tuple[RepositoryId, BranchId], replay: Replay, draft: Draft, tried: Tried
) -> StoredCommit:
    repo, onto = where
    nonces = [Nonce(stores.ids.fresh()) for _ in replay.refs]
    began: CommitId | None = None
    steps: list[_Step] = []
    for _ in attempts(stores, f"transplant onto {repo}/{onto}"):
        registers = fresh(stores, repo, onto)
        began = began or registers.branch.commit_id
        made = made_under_key(stores, registers, draft) or made_by_call(stores, registers, tried, began)
        if made is not None:
            return made
        require_permitted(registers, Action.COMMIT)
        require_clean(stores, registers, "commits are replayed on it")
        # Once: a name means what it meant when the call began, also where the lost race was about that very branch.
        steps = steps or _steps(stores, registers.repository, replay, draft)
        made = _build(stores, registers, list(zip(steps, nonces, strict=True)), replay, draft)
        if made is None:
            if same_content(registers, fresh(stores, repo, onto)):
                head = registers.branch.commit_id
                raise NoChanges(f"branch {onto!r}: the commits change nothing here", commit=head)
            continue
        record = registers.branch.model_copy(update={"commit_id": made.id, "compacted_metarange": None})
        if advance(stores, registers, record, made.id, tried):
            return made
    raise AssertionError("attempts() raises when it ends")


def _steps(stores: Stores, repo: Repository, replay: Replay, draft: Draft) -> list[_Step]:
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
) -> StoredCommit | None:
    """Write all that the swap will make visible; gives the new head, None where nothing changes."""
    head = commit_of(stores, registers.repository, registers.branch.commit_id)
    if _is_fast_forward([step.commit for step, _ in steps], head, replay, draft):
        return steps[-1][0].commit
    made, writes = _replayed(stores, registers, head, steps, replay.strategy)
    if made.id == head.id:
        return None
    record_writes(stores, writes)
    return made


def _is_fast_forward(commits: Sequence[StoredCommit], head: StoredCommit, replay: Replay, draft: Draft) -> bool:
    """Whether the commits would be repeated word for word: on their own base, nothing said anew.

    A merge commit is repeated: as it stands it would bring the history of its other side. So is what a call with an
    idempotency key replays: its commits carry the key.
    """
    chained = all(commit.header.parents == (before.id,) for before, commit in pairwise([head, *commits]))
    return chained and draft == Draft("") and not replay.backwards


def _step(stores: Stores, repo: Repository, commit: StoredCommit, replay: Replay, draft: Draft) -> _Step:
    parents = commit.header.parents
    if not 1 <= replay.mainline <= len(parents):
        raise InvalidInput(f"commit {commit.id[:12]}: has {len(parents)} parents, so none is number {replay.mainline}")
    before = commit_of(stores, repo, parents[replay.mainline - 1]).layout.index
    after = commit.layout.index
    if replay.backwards:
        message = draft.message or _reverting(commit)
        return _Step(commit, after, before, replace(draft, message=message))
    header = commit.header
    words = replace(
        draft,
        message=draft.message or header.message,
        committer=draft.committer or header.committer,
        metadata={**header.metadata, **draft.metadata},
    )
    return _Step(commit, before, after, words)


def _reverting(commit: StoredCommit) -> str:
    subject = commit.header.message.partition("\n")[0][:MAX_SUBJECT]
    return f'Revert "{subject}"\n\nThis reverts commit {commit.id}.'


def _replayed(
    stores: Stores,
    registers: Registers,
    head: StoredCommit,
    steps: Sequence[tuple[_Step, Nonce]],
    strategy: MergeStrategy | None,
) -> tuple[StoredCommit, list[Write]]:
    """The last commit of the replay, and the writes that store all of them."""
    at, written = head, list[Write]()
    for step, nonce in steps:
        inputs = MergeInputs(step.base, step.source, at.layout.index)
        applied = combine(stores, registers.repository, inputs, Rules(strategy))
        if applied.effective == 0 and not step.draft.allow_empty:
            continue
        record_writes(stores, applied.writes)  # the next step reads them
        content = Content(applied.index, applied.operations, (at,), nonce)
        at, writes = build(stores, registers, step.draft, content)
        written += writes
    return at, written
