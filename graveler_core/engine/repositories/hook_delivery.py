"""Delivery of webhooks that the process which made a change did not call. See `engine.protocol.hooks`.

A run is pending and its time has come if the process ended, or lost a response, between storing the run and storing its
result. If the run has attempts, the change has happened, and a process ended while it called the webhook, perhaps
again. Otherwise the records of the branch or tag show if the change has happened:

- a commit or merge has happened if the commit is on the chain of first parents of the branch. It has not happened if it
  is not there and the branch was not reset since, or if a collection has removed the commit: it removes only commits
  that no branch has ever reached (`gc.unreached`);
- a creation has happened if the branch or tag exists with the uid of the run;
- an assignment of a tag has happened if the tag named the commit after the number of moves in the run. The record of
  the tag has only the newest moves;
- a deletion has happened if it does not exist any more.

If the change has happened, the webhook is called. If it has not happened so far, it still may: the process that began
it can be slow. The run is therefore removed only when it is a day old, which exceeds the time budget of every flow. If
the records do not tell, for example because the branch was deleted since, the run becomes `uncertain` at that age. The
age is counted from the beginning of the lease of the run. If a clock far ahead has written its time, the lease begins
again.

Results that are older than the given time are removed, so that the records of runs do not grow without limit.

A run that cannot be delivered, for example because its record or the history of its branch is damaged, does not keep
other runs from being delivered. It stays as it is, and the delivery raises its error at the end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from graveler_core.engine.protocol.hook_calls import LEASE, call
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.repositories.webhooks import hook_missing
from graveler_core.errors import (
    CorruptData,
    GravelerError,
    InvalidInput,
    Kind,
    NotFound,
    OutcomeUnknown,
    PredicateFailed,
    SlowDown,
    Unavailable,
)
from graveler_core.model import past
from graveler_core.model.clock import not_before
from graveler_core.model.counting import counted
from graveler_core.model.entities import BranchRecord, RepositoryRecord, Tag
from graveler_core.model.hook_runs import HookRun, HookState
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId, TagId
from graveler_core.model.references import uid_of
from graveler_core.model.webhooks import HookEvent
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.ancestry import first_parents
from graveler_core.stores import Stores

PATIENCE: Final = timedelta(days=1)
"""Age of a run above which its change, if it has not happened so far, will never happen."""
KEPT: Final = timedelta(days=30)
"""Default age from which on results are removed."""


@dataclass(frozen=True, slots=True)
class HookDeliveries:
    """Result of a delivery, as numbers of runs."""

    passed: int = 0
    """Runs whose webhook was called and succeeded."""
    failed: int = 0
    """Runs whose webhook was called and failed, or was removed, or whose function stored no result in time."""
    waiting: int = 0
    """Runs that another process may still complete."""
    withdrawn: int = 0
    """Runs that were removed because their change did not happen."""
    uncertain: int = 0
    """Runs whose change cannot be verified any more."""
    removed: int = 0
    """Old results that were removed."""


def deliver(stores: Stores, repo: RepositoryId, *, keep: timedelta = KEPT) -> HookDeliveries:
    """Call the webhooks of pending runs whose change has happened, and remove old results.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        keep: Age from which on results are removed.

    Returns:
        Numbers of runs.

    Raises:
        GravelerError: The first error of a run that cannot be delivered. All others were delivered.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    counts = dict.fromkeys(("passed", "failed", "waiting", "withdrawn", "uncertain", "removed"), 0)
    errors: list[GravelerError] = []
    for _, held in access.scan(stores.kv, keys.hook_runs(repository), damaged=errors.append):
        try:
            result = _delivered(stores, repository, held, keep)
        except OutcomeUnknown:  # the next delivery finds out
            result = "waiting"
        except (SlowDown, Unavailable):  # other runs would fail, too
            raise
        except GravelerError as e:
            errors.append(e)
            continue
        if result:
            counts[result] += 1
    if errors:
        raise _not_delivered(repo, errors)
    return HookDeliveries(**counts)


def repeat(stores: Stores, repo: RepositoryId, run_id: str) -> HookRun:
    """Call the webhook of a run again, with the same request.

    Returns:
        The run with its new result.

    Raises:
        NotFound: The run or the webhook does not exist (`HookNotFound`).
        InvalidInput: The text is no id of a run, or the run is of a hook before a change, or of a function. Or it is
            pending: its change has perhaps not happened, or another process calls its webhook.
        OutcomeUnknown: A response was lost. The webhook was perhaps called.
    """
    if not run_id.isascii():
        raise InvalidInput(f"run {run_id!r}: is not an id of a run")
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    held = _ended_run(stores, repository, run_id)
    name = held.value.request.hook_id
    hook = next((known for known in repository.webhooks if known.name == name), None)
    if hook is None:
        raise hook_missing(repo, name)
    ended = call(stores, repository, hook, held, again=True)
    if ended is None:
        found = _ended_run(stores, repository, run_id).value
        raise InvalidInput(f"run {run_id!r}: another process called its webhook meanwhile; it is now {found.state}")
    return ended


def _ended_run(stores: Stores, repository: RepositoryRecord, run_id: str) -> Held[HookRun]:
    """Return a run whose webhook was called after a change. Raises the errors of `repeat`."""
    held = access.read(stores.kv, keys.hook_runs(repository).at(run_id))
    if held is None:
        raise NotFound(
            f"run {run_id!r}: repository {repository.id!r} has no run of a hook with this id", kind=Kind.HookNotFound
        )
    run = held.value
    if run.request.event_type.is_pre or run.is_function:
        raise InvalidInput(f"run {run_id!r}: only a webhook after a change can be called again")
    if run.state is HookState.PENDING:
        raise _still_pending(run, stores.clock.now())
    return held


def _still_pending(run: HookRun, now: datetime) -> InvalidInput:
    if run.due is not None and run.due > now:
        why = f"until {run.due:%Y-%m-%d %H:%M:%S} UTC, another process may change it, or call its webhook"
    else:
        why = "`graveler hook deliver` (deliver_hooks) finds out whether its change happened, and calls its webhook"
    return InvalidInput(f"run {run.request.run_id!r}: is pending; {why}", state=str(run.state), due=run.due)


def _not_delivered(repo: RepositoryId, errors: list[GravelerError]) -> GravelerError:
    first = errors[0]
    runs = counted(len(errors), "run of a hook", "runs of hooks")
    return type(first)(
        f"repository {repo!r}: {runs} could not be delivered, the others were; the first error: {first.message}",
        kind=first.kind,
        **first.details,
    )


def _delivered(stores: Stores, repo: RepositoryRecord, held: Held[HookRun], keep: timedelta) -> str:
    """Deal with one run. Return the name of the number that counts it, or "" if there was nothing to do."""
    run, now = held.value, stores.clock.now()
    if run.state is not HookState.PENDING:
        is_old = now - (run.ended or run.request.event_time) > keep
        return "removed" if is_old and _removed(stores, repo, held) else ""
    taken = run.request.event_time if run.due is None else run.due - LEASE
    if taken - now > PATIENCE:  # of a clock far ahead; a difference of hours may be that of this machine's clock
        with suppress(PredicateFailed):  # another process has taken it
            _replace(stores, repo, held, due=now + LEASE)
    if run.due is not None and run.due > now:
        return "waiting"
    happened = run.attempts > 0 or _happened(stores, repo, run)
    if happened:
        return _called(stores, repo, held)
    if now - not_before(run.request.event_time, taken, now) <= PATIENCE:
        return "waiting"
    if happened is None:
        return "uncertain" if _ended(stores, repo, held, HookState.UNCERTAIN, "") else "waiting"
    return "withdrawn" if _removed(stores, repo, held) else "waiting"


def _called(stores: Stores, repo: RepositoryRecord, held: Held[HookRun]) -> str:
    run = held.value
    if run.is_function:
        reason = "the process that has the function stored no result in time; it has probably ended"
    else:
        hook = next((known for known in repo.webhooks if known.name == run.request.hook_id), None)
        if hook is not None:
            ended = call(stores, repo, hook, held)
            return "waiting" if ended is None else "passed" if ended.state is HookState.PASSED else "failed"
        reason = "the webhook was removed before it was called"
    return "failed" if _ended(stores, repo, held, HookState.FAILED, reason) else "waiting"


def _happened(stores: Stores, repo: RepositoryRecord, run: HookRun) -> bool | None:
    """Return `True` if the change of a run has happened, `False` if not so far, `None` if the records do not tell."""
    request = run.request
    if request.tag_id:
        tag = access.read(stores.kv, keys.tag(repo, TagId(request.tag_id)))
        exists = tag is not None and uid_of(tag.value) == run.reference_uid
        if tag is not None and exists and request.event_type is HookEvent.POST_CREATE_TAG:
            return _has_named(tag.value, CommitId(request.commit_id), run.epoch)
    else:
        branch = access.read(stores.kv, keys.branch(repo, BranchId(request.branch_id)))
        exists = branch is not None and branch.value.uid == run.reference_uid
        if request.event_type in (HookEvent.POST_COMMIT, HookEvent.POST_MERGE):
            return _is_head_or_below(stores, repo, run, branch.value if branch is not None and exists else None)
    if request.event_type in (HookEvent.POST_DELETE_BRANCH, HookEvent.POST_DELETE_TAG):
        return not exists
    return True if exists else None


def _has_named(tag: Tag, commit: CommitId, moves: int) -> bool | None:
    """Return if a tag named a commit after a number of moves, or `None` if its record does not tell any more.

    The number 0 is its creation.
    """
    if not moves:
        return True
    made = past.moves(tag.past)
    if made <= moves:
        return made == moves and tag.commit_id == commit
    left = {step.number: step.commit for step in past.steps(tag.past, tag.id)}.get(moves + 1)
    return None if left is None else left == commit


def _is_head_or_below(stores: Stores, repo: RepositoryRecord, run: HookRun, branch: BranchRecord | None) -> bool | None:
    """Return what `_happened` returns for a commit or merge. The branch is `None` if it does not exist any more."""
    commit = CommitId(run.request.commit_id)
    generation, exists = _generation(stores, repo, run)
    if branch is not None and generation is not None and _on_chain(stores, repo, branch.commit_id, commit, generation):
        return True
    if not exists:  # no branch has ever reached it
        return False
    return False if branch is not None and branch.epoch == run.epoch else None


def _generation(stores: Stores, repo: RepositoryRecord, run: HookRun) -> tuple[int | None, bool]:
    """Return the generation of the commit of a run, and whether the commit exists.

    A commit that was removed had one generation more than its parent. A collection may have removed both.
    """
    with suppress(NotFound):
        return commit_of(stores, repo, CommitId(run.request.commit_id)).header.generation, True
    for parent in run.request.parents[:1]:
        with suppress(NotFound):
            return commit_of(stores, repo, CommitId(parent)).header.generation + 1, False
    return None, False


def _on_chain(stores: Stores, repo: RepositoryRecord, head: CommitId, commit: CommitId, generation: int) -> bool:
    """Return whether a commit of a generation is a head or among its first parents.

    Raises:
        CorruptData: A commit of the chain is missing.
    """
    try:
        for known in first_parents(lambda commit_id: commit_of(stores, repo, commit_id), head):
            if known.id == commit:
                return True
            if known.header.generation <= generation:
                return False
    except NotFound as e:
        repositories.get(stores.kv, stores.clock, stores.ids, repo.id)  # nothing is damaged if it was deleted
        raise CorruptData(e.message, kind=Kind.CorruptCommit, **e.details) from e
    return False


def _ended(stores: Stores, repo: RepositoryRecord, held: Held[HookRun], state: HookState, message: str) -> bool:
    try:
        _replace(stores, repo, held, state=state, due=None, ended=stores.clock.now(), message=message)
    except PredicateFailed:
        return False
    return True


def _replace(stores: Stores, repo: RepositoryRecord, held: Held[HookRun], **update: object) -> None:
    record = held.value.model_copy(update={**update, "nonce": Nonce(stores.ids.fresh())})
    access.replace(stores.kv, keys.hook_runs(repo).at(record.request.run_id), held, record)


def _removed(stores: Stores, repo: RepositoryRecord, held: Held[HookRun]) -> bool:
    # A run keeps its record: another process has replaced a record that still exists.
    where = keys.hook_runs(repo).at(held.value.request.run_id)
    return access.remove(stores.kv, where, held, lives_on=lambda current: True)
