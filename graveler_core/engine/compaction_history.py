"""A compaction with its history: what sensors, metrics and people see of compactions afterwards.

The history is a record of the branch, changed by swaps; what a failure or a crash leaves out of it is missing there and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from graveler_core.engine.compaction import Compacted, compact
from graveler_core.engine.registers import fresh
from graveler_core.errors import GravelerError, Kind, PredicateFailed
from graveler_core.model.compaction import CompactionHistory, CompactionRun, Outcome
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Registers, Stores

_TRIES = 5
_AT_ONCE = 1_000
"""Branches whose records are read in one round trip."""
_OUTCOMES = {
    Kind.NoChanges: Outcome.NOTHING,
    Kind.CompactionUnderWay: Outcome.BUSY,
    Kind.CompactionLost: Outcome.LOST,
}


def compact_and_remember(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Compacted:
    """`engine.compaction.compact`, remembered."""
    start = stores.wall()
    began = datetime.fromtimestamp(start, UTC)

    def ended(outcome: Outcome, layers: int = 0, records: int = 0, tombstones: int = 0) -> None:
        used = stores.registers.get(repo, branch)
        if used is None:  # there is no such branch
            return
        seconds = max(0.0, stores.wall() - start)
        counts = {"layers": layers, "records": records, "tombstones": tombstones}
        run = CompactionRun(began=began, seconds=seconds, outcome=outcome, **counts)
        with suppress(GravelerError):
            _remember(stores, used, run)

    try:
        made = compact(stores, repo, branch, every)
    except GravelerError as e:
        ended(_OUTCOMES.get(Kind(e.kind), Outcome.FAILED))
        raise
    ended(Outcome.COMPACTED, made.layers, made.records, made.tombstones)
    return made


def history(stores: Stores, repo: RepositoryId, branch: BranchId) -> CompactionHistory:
    """What compactions of a branch did since it was created, as far as it was written down."""
    now = fresh(stores, repo, branch)
    return _known(now, access.read(stores.kv, keys.compaction_history(now.repository, branch)))


@dataclass(frozen=True, slots=True)
class BranchCompactions:
    """A branch, and what its compactions did since it was created."""

    branch: BranchId
    history: CompactionHistory


def histories(
    stores: Stores, repository: Repository, *, prefix: str = "", after: str = ""
) -> Iterator[BranchCompactions]:
    """The histories of the branches that there are and that were compacted, in order of their names, lazily."""
    held = access.scan(stores.kv, keys.compaction_histories(repository), prefix=prefix, after=after)
    while batch := [(BranchId(name), kept.value) for name, kept in islice(held, _AT_ONCE)]:
        branches = access.read_many(stores.kv, [keys.branch(repository, name) for name, _ in batch])
        for (name, known), branch in zip(batch, branches, strict=True):
            if branch is not None and branch.value.uid == known.uid:
                yield BranchCompactions(name, known)


def _known(now: Registers, held: Held[CompactionHistory] | None) -> CompactionHistory:
    """The history of this very branch: not that of one that bore its name before."""
    known = None if held is None or held.value.uid != now.branch.uid else held.value
    return CompactionHistory(uid=now.branch.uid) if known is None else known


def _remember(stores: Stores, now: Registers, run: CompactionRun) -> None:
    where = keys.compaction_history(now.repository, now.branch.id)
    for _ in range(_TRIES):
        held = access.read(stores.kv, where)
        with suppress(PredicateFailed):
            if held is None:
                access.create(stores.kv, where, _known(now, held).with_run(run))
            else:
                access.replace(stores.kv, where, held, _known(now, held).with_run(run))
            return
