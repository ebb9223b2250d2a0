"""Merge: apply the changes of the source since the merge base to the destination. Source: seeds 000 and 002.

1. Read both sides, bypassing the cache. If an earlier attempt made the commit, return it. Refuse a dirty destination,
   a source whose content has expired (`engine.reading.expired`) or that has not passed the checks that the destination
   requires, and a destination that has changed below a prefix on which the merge depends (`engine.merging.unchanged`).
2. `decide` reads the changes of the source and writes nothing. If there are conflicts, the merge fails, and the error
   contains their number.
3. Make one commit of all changes with two parents: the destination's head and the source. A squash makes the same
   commit without the second parent, so the merge base stays where it is, and a later merge compares with it again. A
   replay repeats the commits of the source (`engine.merging.chain`); the last of them has the source as its second
   parent. Blobs, runs, headers and layouts are written, and nothing refers to them. A crash leaves only garbage.
4. ✓ Swap once, regardless of the number of commits, from the same record that was checked: the head becomes the last
   commit, and the compacted tree becomes none (the check found it equal to the head). This makes the merge visible.
   A failed swap means that the destination moved or got a layer: the merge is decided again, with the current commit
   of the source.

If there is nothing to merge, no swap proves that the branch record is current. The call therefore ends with a closing
re-read, and raises `NoChanges`. A write that is acknowledged between check and swap does not change the branch record.
It stays staged on top of the merge.

`check` takes steps 1 and 2 and ends with a closing re-read instead of a swap.
"""

from __future__ import annotations

from functools import partial

from graveler_core.committed.index.replay import rest
from graveler_core.committed.index.resolutions import MergeRules, resolutions
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.earlier_attempts import find_by_key
from graveler_core.engine.committing.head import HeadMove, NewHead, move_head
from graveler_core.engine.merging.chain import MergeCall, chain, has_effect, repeated_commits
from graveler_core.engine.merging.combine import Combination, decide
from graveler_core.engine.merging.sides import MergeRequest, Sides, sides_of
from graveler_core.engine.merging.unchanged import require_unchanged
from graveler_core.engine.protocol.registers import same_content, settled
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.reading.checks import require_passed
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.uncommitted import require_clean
from graveler_core.engine.staging.kept_content import require_kept_rows
from graveler_core.errors import NoChanges
from graveler_core.model.changes import MergeForm
from graveler_core.model.ids import RepositoryId
from graveler_core.model.protection import BranchAction
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, Stores


def merge(stores: Stores, repo: RepositoryId, request: MergeRequest, draft: Draft) -> StoredCommit:
    """Merge a ref into a branch in one step. Return the branch's new head.

    Raises:
        NoChanges: The destination already has all commits of the source, or the changes have no effect here and the
            draft does not allow an empty commit. `details["commit"]` is the head.
        Conflict: Both sides changed some paths (`MergeConflict`). `details["conflicts"]` lists the first thousand.
            Or the destination has changed below a prefix (`PrefixChanged`).
        DirtyBranch: The destination has uncommitted changes.
        PermissionDenied: The branch is protected from merges, the repository is read-only, or the source has not
            passed a check that the branch requires (`ChecksRequired`).
        NotFound: The repository, the ref or the branch does not exist, the histories are unrelated (`NoMergeBase`), or
            content has expired (`ContentExpired`): that of the source or, for a replay, that of a commit to repeat.
        InvalidInput: A resolution is invalid, or is for a path that the source did not change.
    """
    call = _call(request, draft)
    # Other errors depend only on the records that were read. `NoChanges` may be out of date.
    move = HeadMove(
        "merge into",
        repo,
        request.into,
        draft,
        partial(_prepare, stores, call),
        BranchAction.MERGE,
        reread=(NoChanges,),
    )
    return move_head(stores, move)


def check(stores: Stores, repo: RepositoryId, request: MergeRequest, draft: Draft) -> None:
    """Raise the error that `merge` would raise now. Write nothing.

    Raises:
        GravelerError: The errors of `merge`.
    """
    call = _call(request, draft)

    def attempt(registers: Registers) -> None:
        if find_by_key(stores, registers, draft, read_only=True) is not None:
            return
        require_permitted(registers, BranchAction.MERGE)
        require_clean(stores, registers, "merging into it")
        decided = _decided(stores, registers, call, swaps=False)
        if decided is None or not (draft.allow_empty or _has_effect(stores, registers, *decided, request.form)):
            raise _nothing_to_merge(registers, call)

    settled(stores, repo, request.into, attempt, same=_same_state)


def _same_state(used: Registers, now: Registers) -> bool:
    """Compare what a check uses: the rules of the repository, and the content of the branch."""
    return used.repository.nonce == now.repository.nonce and same_content(used, now)


def _has_effect(stores: Stores, registers: Registers, sides: Sides, combination: Combination, form: MergeForm) -> bool:
    changes = rest(combination.indexes, sides.inputs.destination, combination.changes())
    if next(changes, None) is not None:
        return True
    return form is MergeForm.REPLAY and has_effect(stores, registers, sides, combination)


def _call(request: MergeRequest, draft: Draft) -> MergeCall:
    return MergeCall(request, MergeRules(request.strategy, resolutions(request.resolve)), draft)


def _prepare(stores: Stores, call: MergeCall, registers: Registers) -> NewHead:
    require_clean(stores, registers, "merging into it")
    head = _build(stores, registers, call)
    if head is None:
        raise _nothing_to_merge(registers, call)
    return head


def _nothing_to_merge(registers: Registers, call: MergeCall) -> NoChanges:
    branch = registers.branch
    return NoChanges(
        f"branch {branch.id!r}: merging {call.request.source!r} changes nothing here", commit=branch.commit_id
    )


def _decided(stores: Stores, registers: Registers, call: MergeCall, *, swaps: bool) -> tuple[Sides, Combination] | None:
    """Check the sides and decide about each path. Return `None` if the destination has all commits of the source.

    Args:
        stores: Stores of the flow.
        registers: Records that the flow has read.
        call: The merge.
        swaps: True if the flow ends in a swap, false if it only checks and writes nothing.
    """
    sides = sides_of(stores, registers, call.request)
    if sides is None:
        return None
    is_replay = call.request.form is MergeForm.REPLAY
    taken = repeated_commits(stores, registers, sides) if is_replay else [sides.theirs.id]
    require_content(stores, registers.repository, taken, parents=sides.theirs.header.parents, revive=swaps)
    require_passed(stores, registers, sides.theirs)
    require_unchanged(stores, registers, sides, call.request.unchanged)
    combination = decide(stores, registers.repository, sides.inputs, call.rules)
    if call.rules.resolutions is not None:
        require_kept_rows(stores, registers.repository, call.rules.resolutions.values, swaps=swaps)
    return sides, combination


def _build(stores: Stores, registers: Registers, call: MergeCall) -> NewHead | None:
    """Prepare everything that the swap makes visible. Return the new head, or `None` if there is nothing to merge."""
    decided = _decided(stores, registers, call, swaps=True)
    if decided is None:
        return None
    sides, combination = decided
    form = call.request.form
    if form is MergeForm.REPLAY and (made := chain(stores, registers, sides, combination, call)) is not None:
        return made
    applied = combination.applied(stores)
    if applied.effective == 0 and not call.draft.allow_empty:
        return None
    parents = (sides.ours,) if form is MergeForm.SQUASH else (sides.ours, sides.theirs)
    content = CommitContent(applied.index, applied.operations, parents, call.nonce(stores))
    commit, writes = new_commit(stores, registers, call.request.titled(call.draft), content)
    return NewHead(commit, [*applied.writes, *writes])
