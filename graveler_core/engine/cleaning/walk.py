"""Cleaner: one walk over the leftovers of deletions, crashes and retired layers. Source: seed 001.

    stale       interrupted creations and deletions                      `stale`
    deleted     leftovers of deleted repositories                        `cleaning.deleted`
    claims      storage namespaces without an owner                      `cleaning.claims`
    live        layers, idempotency keys, histories of active ones       `cleaning.live`
    counters    counters of layers that are no longer listed             `engine.staging.pressure`

Reachable data is never removed, regardless of clocks and of the number of cleaners. The docstring of each stage
proves this. Every step is repeatable, so a crash only leaves work to do. An item that fails is reported and left to
the next walk. One page of records is in memory.

A call examines at most `limit` items, then returns the token from which the next call continues. A partition is
dropped as a whole, in transactions of 5,000 rows, regardless of its size.

Interrupted creations and deletions are completed as deletions (`engine.repositories.deletion`), from exactly the
record that was found: a repository that became active in the meantime is not changed. The entry is then among the
deleted repositories, and the cleaner continues with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from graveler_core.engine.cleaning.claims import claims
from graveler_core.engine.cleaning.deleted import deleted, is_due
from graveler_core.engine.cleaning.live import live
from graveler_core.engine.cleaning.plan import Cleaned, CleaningPlan, Waiting
from graveler_core.engine.cleaning.work import BEGINNING, CleaningCall, Position, Step
from graveler_core.engine.repositories.deletion import complete_deletion
from graveler_core.engine.staging import pressure
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import DeletedState
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.repositories import completion_time
from graveler_core.stores import Stores


def clean(
    stores: Stores,
    plan: CleaningPlan | None = None,
    *,
    after: str | None = None,
    progress: Callable[[int], object] = lambda more: None,
) -> Cleaned:
    """Remove data to which nothing refers any more.

    Args:
        stores: Stores of the flow.
        plan: Permissions and limits.
        after: `Cleaned.next` of an earlier call, to continue it.
        progress: Receives the number of items that were examined since the last call.

    Raises:
        InvalidInput: `after` is not a token of an earlier call.
        SlowDown, Unavailable: The walk over the store failed. Completed removals stay; call again.
    """
    plan = plan or CleaningPlan()
    names = list(_STAGES) if plan.uid is None else ["deleted"]
    stage, position = (names[0], BEGINNING) if after is None else _parsed(after, names)
    work = CleaningCall(stores, plan, Cleaned(dry_run=plan.dry_run), plan.limit)
    if work.left == 0:
        work.done.next = _token(stage, position)
        return work.done
    for name in names[names.index(stage) :]:
        for reached, weight in _STAGES[name](work, position if name == stage else BEGINNING):
            progress(weight)
            if work.left is not None:
                work.left -= weight
                if work.left <= 0:
                    work.done.next = _token(name, reached)
                    return work.done
    return work.done


def waiting(stores: Stores, plan: CleaningPlan | None = None) -> Waiting:
    """Return the deleted repositories that wait for a cleaner, with one scan of their entries."""
    work = CleaningCall(stores, plan or CleaningPlan(), Cleaned(), None)
    counts = dict.fromkeys(DeletedState, 0)
    due, oldest = 0, None
    for _, held in access.scan(stores.kv, keys.DELETED_REPOSITORIES, damaged=work.damaged):
        entry = held.value
        counts[entry.state] += 1
        due += is_due(work, entry)
        oldest = entry.since if oldest is None else min(oldest, entry.since)
    return Waiting(
        counts[DeletedState.DELETED],
        counts[DeletedState.PURGING],
        counts[DeletedState.RESTORING],
        due,
        oldest,
        work.done.failed,
    )


def _counters(work: CleaningCall, at: Position) -> Iterator[Step]:
    prefix = f"{work.plan.repository}/" if work.plan.repository else ""
    with work.trying("counters"):
        for branch, ended in pressure.forget_ended(
            work.stores, prefix=prefix, after=at[0], dry_run=work.plan.dry_run, damaged=work.damaged
        ):
            work.done.counters += ended
            yield (branch,), 1


def stale(work: CleaningCall, at: Position) -> Iterator[Step]:
    """Process the records of creations and deletions that began long ago."""
    for name, held in work.repositories(at[0]):
        repo = held.value
        if repo.state.passes and work.has_lapsed(repo.since, completion_time(repo), repo):
            with work.trying(f"repository {name}"):
                work.done.deletions += work.plan.dry_run or complete_deletion(work.stores, held)
        yield (name,), 1


_STAGES: dict[str, Callable[[CleaningCall, Position], Iterator[Step]]] = {
    "stale": stale,
    "deleted": deleted,
    "claims": claims,
    "live": live,
    "counters": _counters,
}


def _token(stage: str, position: Position) -> str:
    return json.dumps([stage, *position], ensure_ascii=False, separators=(",", ":"))


def _parsed(token: str, names: Sequence[str]) -> tuple[str, Position]:
    try:
        stage, *position = json.loads(token)
        "".join(position).encode()
        known = stage in names and len(position) in (1, 4)  # a name, and a place within what it names
    except (ValueError, TypeError, RecursionError):
        known = False
    if not known:
        raise InvalidInput(f"cleaning cannot continue after {token!r:.80}: must be a token of an earlier call")
    return stage, tuple(position)
