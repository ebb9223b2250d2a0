"""Merge: what the source changed since the merge base, onto the destination. Source: seeds 000 and 002.

1. Both sides, fresh; a commit that an earlier attempt made ends the call; a dirty destination is refused.
2. `decide` walks what the source changed, and writes nothing; conflicts end the merge with all of them counted.
3. Squashed: one commit of all changes, with two parents: the destination's head and the source. Else the commits of
   the source are repeated (`engine.merge_chain`), and the last of them has the source as its second parent. Blobs,
   runs, headers and layouts are written. All of it unreachable: a crash leaves garbage, nothing else.
4. ✓ One swap, whatever the number of commits, from the very record that was checked: head := the last commit, no
   compacted tree (the check found it equal to the head). It makes the merge visible. A lost swap means that the
   destination moved or got a layer: everything is decided again, on what the source's name means then.

Where there is nothing to merge no swap proves the branch: the call ends with a closing re-read, then `NoChanges`.

An acknowledged write between check and swap does not change the branch record; it stays staged on top of the merge.
"""

from __future__ import annotations

from graveler_core.committed.index.resolutions import Rules, resolutions
from graveler_core.engine.advance import Tried, advance
from graveler_core.engine.clean_branch import require_clean
from graveler_core.engine.combine import decide
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.earlier import made_by_call, made_under_key
from graveler_core.engine.merge_chain import Call, chain
from graveler_core.engine.merge_sides import MergeRequest, sides_of
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes
from graveler_core.errors import NoChanges
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.model.protection import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, Stores


def merge(stores: Stores, repo: RepositoryId, request: MergeRequest, draft: Draft) -> StoredCommit:
    """Merge a ref into a branch in one step; gives the merge commit, the branch's new head.

    Raises:
        NoChanges: the destination has all of the source already; or, unless the draft allows an empty commit, nothing
            of it changes anything here. `details["commit"]` is the head.
        Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first thousand.
        DirtyBranch: the destination has uncommitted changes.
        PermissionDenied: the branch is protected from merges, or the repository is read-only.
        NotFound: no such repository, ref or branch; or (`NoMergeBase`) the histories are unrelated.
        InvalidInput: a resolution is none, or of a path that the source did not change.
    """
    tried = Tried()
    call = Call(request, Rules(request.strategy, resolutions(request.resolve)), draft)
    with stores.turns.turn(repo, request.into), tried.told():
        return _merge(stores, repo, call, tried)


def _merge(stores: Stores, repo: RepositoryId, call: Call, tried: Tried) -> StoredCommit:
    source, into = call.request.source, call.request.into
    began: CommitId | None = None
    for _ in attempts(stores, f"merge into {repo}/{into}"):
        registers = fresh(stores, repo, into)
        began = began or registers.branch.commit_id
        made = made_under_key(stores, registers, call.draft) or made_by_call(stores, registers, tried, began)
        if made is not None:
            return made
        require_permitted(registers, Action.MERGE)
        require_clean(stores, registers, "merging into it")
        made = _build(stores, registers, call)
        if made is None:
            if same_content(registers, fresh(stores, repo, into)):
                head = registers.branch.commit_id
                raise NoChanges(f"branch {into!r}: merging {source!r} changes nothing here", commit=head)
            continue
        record = registers.branch.model_copy(update={"commit_id": made.id, "compacted_metarange": None})
        if advance(stores, registers, record, made.id, tried):
            return made
    raise AssertionError("attempts() raises when it ends")


def _build(stores: Stores, registers: Registers, call: Call) -> StoredCommit | None:
    """Write all that the swap will make visible; gives the new head, None where there is nothing to merge."""
    sides = sides_of(stores, registers, call.request)
    if sides is None:
        return None
    combination = decide(stores, registers.repository, sides.inputs, call.rules)
    made = None if call.request.squash else chain(stores, registers, sides, combination, call)
    if made is not None:
        return made
    applied = combination.applied(stores)
    if applied.effective == 0 and not call.draft.allow_empty:
        return None
    content = Content(applied.index, applied.operations, (sides.ours, sides.theirs), call.nonce(stores))
    commit, writes = build(stores, registers, call.request.titled(call.draft), content)
    record_writes(stores, [*applied.writes, *writes])
    return commit
