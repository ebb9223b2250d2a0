"""Move the head of a branch. Merge, transact, replay and import share this module, and commit uses most of it.

`move_head` repeats attempts. Each attempt takes these steps:

1. Read repository and branch, bypassing every cache.
2. Look for a commit of an earlier attempt: under the idempotency key, or one that this call tried. It is the result.
3. Check in the repository record that the change is allowed.
4. Prepare the commit. This step differs between flows. Everything is written here except the records of the commit
   itself, and nothing refers to it.
5. ✓ Write the records of the commit, and swap the branch record that was read in step 1. This makes the commit visible.
   It is one step if the store supports it, unless there are hooks, which read the commit before the swap. If another
   swap came first, begin again.

Two rules handle a swap whose response was lost.

* Other commits may follow the commit before its flow reads the branch again. The head alone therefore does not show
  whether the commit was made, but the chain of first parents does. A commit on the chain was made. If the chain
  reaches the base of the attempt without the commit, and there was no reset since, the commit has not been made so far.
  The flow makes another attempt, which is safe by the next rule. In all other cases the outcome is unknown, and the
  error names the commit.
* The request of a swap without a response may still arrive. It is a compare-and-swap on the record from which the
  next attempt swaps, so at most one of the two succeeds. The attempt that fails must recognize the commit of the
  other as its own (step 2). It cannot if the branch was reset, or created again, after the request has arrived. So an
  attempt swaps only if neither has happened since the request was sent. Otherwise the outcome is unknown.

A flow writes a commit, calls hooks for it and makes it the head only within the time limit of builds
(`objects.build_time`). Later, a sweep may have deleted its files, a collection may have removed a commit whose swap
has failed (`gc.unreached`), and the content of a source may have expired. Hooks may take long, so the time is checked
before and after them. If there are hooks, a merge also checks its source again after it has written the merge commit
and before it calls the hooks, because the merge may have taken long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.committing.earlier_attempts import (
    TriedCommits,
    find_by_key,
    find_tried,
    first_parents_of,
    header_of,
    unknown_outcome,
)
from graveler_core.engine.compacting.index_maintenance import start_maintenance
from graveler_core.engine.protocol import hooks
from graveler_core.engine.protocol.hooks import HookedChange
from graveler_core.engine.protocol.registers import fresh, require_repository, same_content
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import Write, following, record_writes, without_layer
from graveler_core.engine.reading.expired import require_again
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import (
    Conflict,
    CorruptData,
    DirtyBranch,
    GravelerError,
    NoChanges,
    OutcomeUnknown,
    PredicateFailed,
)
from graveler_core.model.clock import Instant
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId
from graveler_core.model.protection import BranchAction
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, RetryBudget, Stores

Refusals = tuple[type[GravelerError], ...]


@dataclass(frozen=True, slots=True)
class NewHead:
    """A prepared commit, and the compacted tree that the branch has once the commit is its head."""

    commit: StoredCommit
    writes: Sequence[Write] = ()
    """Records of the commit that are not stored yet."""
    compacted: MetarangeId | None = None


@dataclass(frozen=True, slots=True)
class HeadMove:
    """Flow that makes one commit the head of a branch: the properties in which flows differ."""

    name: str
    """Name of the flow with its preposition, for messages: "merge into"."""
    repository: RepositoryId
    branch: BranchId
    draft: Draft
    prepare: Callable[[Registers], NewHead]
    """Function that prepares the new head for the registers of one attempt."""
    action: BranchAction = BranchAction.COMMIT
    """Action that the protection of the branch must allow."""
    check: Callable[[Registers], None] | None = None
    """Function that refuses registers before any other work."""
    reread: Refusals = (Conflict, DirtyBranch, NoChanges)
    """Errors of `prepare` that end the flow only if a closing re-read finds the content of the branch unchanged."""
    budget: RetryBudget | None = None
    begun: Instant | None = None
    """Start of the flow, if it wrote something before `move_head` was called."""


def move_head(stores: Stores, move: HeadMove) -> StoredCommit:
    """Make the commit that a flow prepares the head of its branch.

    Returns:
        The new head, or the commit that an earlier attempt made.

    Raises:
        PermissionDenied: The branch is protected from the action, the repository is read-only, or a hook refused the
            commit (`HookRefused`).
        NotFound: The repository or the branch does not exist.
        OutcomeUnknown: A response was lost, and the history does not show the outcome. `details["commit"]` names the
            commit.
        SlowDown: Other changes came first until the budget was spent, or the call took too long (`RetriesExhausted`).
        GravelerError: Any error of `check` and `prepare`.
    """
    repo, branch = move.repository, move.branch
    is_merge = move.action is BranchAction.MERGE
    with stores.turns.turn(repo, branch):
        event = HookEvent.PRE_MERGE if is_merge else HookEvent.PRE_COMMIT
        tried = TriedCommits(move.begun or Instant.of(stores.clock), event=event)
        with tried.reported():
            attempt = partial(_attempt, stores, move, tried)
            return retry(stores, f"{move.name} {repo}/{branch}", attempt, move.budget)


def _attempt(stores: Stores, move: HeadMove, tried: TriedCommits) -> StoredCommit | None:
    now = fresh(stores, move.repository, move.branch)
    tried.bases.append(now.branch.commit_id)
    if move.check is not None:
        move.check(now)
    found = find_by_key(stores, now, move.draft) or find_tried(stores, now, tried)
    if found is not None:
        return found
    require_permitted(now, move.action)
    head = _prepared(stores, now, move)
    if head is None:
        return None
    record = now.branch.model_copy(update={"commit_id": head.commit.id, "compacted_metarange": head.compacted})
    return head.commit if advance(stores, now, record, head, tried) else None


def advance(stores: Stores, registers: Registers, record: BranchRecord, head: NewHead, tried: TriedCommits) -> bool:
    """Swap the branch record for one with the new head. Return `False` if another swap came first.

    Hooks are called before and after the swap.

    Raises:
        PermissionDenied: A hook refused the commit (`HookRefused`).
        NotFound: The repository or the branch was deleted while the commit was built.
        OutcomeUnknown: The response was lost, and the history does not show the outcome. `details["commit"]` names
            the commit.
        SlowDown: The flow has taken too long (`RetriesExhausted`).
    """
    require_repository(stores, registers)
    tried.require_history(registers.branch)
    base, commit, writes = registers.branch, head.commit.id, head.writes
    where = keys.branch(registers.repository, base.id)
    tried.ids.add(commit)
    tried.require_in_time(stores.clock, commit)
    if hooks.are_set(stores, registers.repository):
        record_writes(stores, writes)
        writes = ()
        require_again(stores, registers.repository, head.commit.header.parents[1:])
        tried.require_in_time(stores.clock, commit)

    def happened(current: BranchRecord) -> bool:
        return current.uid == base.uid and commit in _chain(stores, registers, current.commit_id)

    change = HookedChange(tried.event, partial(_told, stores, registers, commit), base.id, base.uid, base.epoch)
    try:
        with hooks.announced(stores, registers.repository, change, told=tried.told):
            tried.require_in_time(stores.clock, commit)
            new = following(stores, base, record)
            held = access.replace(stores.kv, where, registers.held, new, mine=happened, before=writes)
    except PredicateFailed:
        return False
    except OutcomeUnknown as lost:
        if _not_happened(stores, registers):
            tried.unanswered, tried.swapped_from = commit, base
            return False
        raise unknown_outcome(commit) from lost
    stores.registers.replace(registers.repository.id, base.id, held)
    with suppress(GravelerError):  # the swap is done, and another commit can start the maintenance as well
        start_maintenance(stores, registers.repository, base.id, commit_of(stores, registers.repository, commit))
    return True


def _told(stores: Stores, registers: Registers, commit: CommitId) -> dict[str, object]:
    """Return what hooks are told about a new head."""
    header = commit_of(stores, registers.repository, commit).header
    return {
        "branch_id": registers.branch.id,
        "source_ref": commit,
        "commit_id": commit,
        "parents": header.parents,
        "merge_source": header.parents[1] if len(header.parents) > 1 else "",
        "commit_message": header.message,
        "committer": header.committer,
        "commit_metadata": header.metadata,
    }


def _prepared(stores: Stores, now: Registers, move: HeadMove) -> NewHead | None:
    """Prepare the new head. Return `None` if the branch changed and the result is no longer valid."""
    try:
        return move.prepare(now)
    except CorruptData as missing:
        without_layer(stores, now, missing)
    except move.reread:
        if same_content(now, fresh(stores, move.repository, move.branch)):
            raise
    return None


def _not_happened(stores: Stores, registers: Registers) -> bool:
    """Return `True` if the branch's chain reaches the base that was swapped from, without a reset since."""
    base = registers.branch
    try:
        current = access.read(stores.kv, keys.branch(registers.repository, base.id))
        if current is None or (current.value.uid, current.value.epoch) != (base.uid, base.epoch):
            return False
        return base.commit_id in _chain(stores, registers, current.value.commit_id)
    except GravelerError:  # the chain cannot be read, so nothing is known
        return False


def _chain(stores: Stores, registers: Registers, head: CommitId) -> set[CommitId]:
    """Return the first parents from a head down to the base from which this attempt swapped, both included."""
    chain: set[CommitId] = set()
    floor = header_of(stores, registers, registers.branch.commit_id).generation
    for commit in first_parents_of(stores, registers, head):
        chain.add(commit.id)
        if commit.header.generation <= floor:
            break
    return chain
