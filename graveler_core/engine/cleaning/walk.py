"""The cleaner: one walk over all that deletions, crashes and the passing of layers leave behind. Source: seed 001.

    stale       creations and deletions that stopped half-way            `cleaning.stale`
    deleted     what deleted repositories left                           `cleaning.deleted`
    claims      storage namespaces that nobody owns                      `cleaning.claims`
    live        layers, idempotency keys, histories of active ones       `cleaning.live`
    counters    counters of layers that are not listed any more          `engine.pressure`

Nothing that can be reached is ever touched, whatever the clocks say and however many cleaners there are; the docstrings
argue it part by part. Everything is repeatable, so a crash leaves nothing but work. One thing that fails is reported
and left to the next walk. In memory is a page of records.

A call looks at `limit` things at most, then says from where the next one goes on. A partition is dropped as a whole, in
transactions of 5,000 rows, however many it holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from graveler_core.engine import pressure
from graveler_core.engine.cleaning.claims import claims
from graveler_core.engine.cleaning.deleted import deleted, is_due
from graveler_core.engine.cleaning.live import live
from graveler_core.engine.cleaning.plan import Cleaned, CleaningPlan, Waiting
from graveler_core.engine.cleaning.stale import stale
from graveler_core.engine.cleaning.work import BEGINNING, Position, Step, Work
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import DeletedState
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def clean(
    stores: Stores,
    plan: CleaningPlan | None = None,
    *,
    after: str | None = None,
    progress: Callable[[int], object] = lambda more: None,
) -> Cleaned:
    """Remove for good what nothing leads to any more.

    Args:
        after: `Cleaned.next` of an earlier call, to go on from there.
        progress: Told how many more things were looked at.

    Raises:
        InvalidInput: `after` is no such token.
        SlowDown, Unavailable: the store could not be walked over; whatever was done is done, call again.
    """
    plan = plan or CleaningPlan()
    names = list(_STAGES) if plan.uid is None else ["deleted"]
    stage, position = (names[0], BEGINNING) if after is None else _parsed(after, names)
    work = Work(stores, plan, Cleaned(dry_run=plan.dry_run), plan.limit)
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
    """The deleted repositories that wait for a cleaner: one scan of their entries."""
    work = Work(stores, plan or CleaningPlan(), Cleaned(), None)
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


def _counters(work: Work, at: Position) -> Iterator[Step]:
    prefix = f"{work.plan.repository}/" if work.plan.repository else ""
    for branch, ended in pressure.forget_ended(work.stores, prefix=prefix, after=at[0], dry_run=work.plan.dry_run):
        work.done.counters += ended
        yield (branch,), 1


_STAGES: dict[str, Callable[[Work, Position], Iterator[Step]]] = {
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
        known = stage in names and position and all(isinstance(part, str) for part in position)
    except (ValueError, TypeError):
        known = False
    if not known:
        raise InvalidInput(f"cleaning cannot go on after {token!r}: no call gave that")
    return stage, tuple(position)
