"""Entry point of the façade for compactions: run the compaction, then add the run to the history of the branch.

Sensors, metrics and users read the history. The history is a record of the branch, changed by swaps. A failure or a
crash may leave a run out of the history, without any other effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from graveler_core.engine.compacting.compaction import Compacted, compact
from graveler_core.engine.protocol.registers import fresh
from graveler_core.errors import GravelerError, Kind, PredicateFailed
from graveler_core.model.compaction import CompactionHistory, CompactionOutcome, CompactionRun
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Damaged, Held
from graveler_core.stores import Registers, Stores

_TRIES = 5
_AT_ONCE = 1_000
"""Number of branch records that are read in one round trip."""
_OUTCOMES = {
    Kind.NoChanges: CompactionOutcome.NOTHING,
    Kind.CompactionUnderWay: CompactionOutcome.BUSY,
    Kind.CompactionLost: CompactionOutcome.LOST,
}


def compact_and_remember(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Compacted:
    """Compact a branch and add the run to its history, whatever the outcome. Arguments and errors are those of
    `compact`.
    """
    start = stores.wall()
    began = datetime.fromtimestamp(start, UTC)

    def ended(outcome: CompactionOutcome, layers: int = 0, records: int = 0, tombstones: int = 0) -> None:
        used = stores.registers.get(repo, branch)
        if used is None:  # the branch does not exist
            return
        seconds = max(0.0, stores.wall() - start)
        counts = {"layers": layers, "records": records, "tombstones": tombstones}
        run = CompactionRun(began=began, seconds=seconds, outcome=outcome, **counts)
        with suppress(GravelerError):
            _remember(stores, used, run)

    try:
        made = compact(stores, repo, branch, every)
    except GravelerError as e:
        ended(_OUTCOMES.get(Kind(e.kind), CompactionOutcome.FAILED))
        raise
    ended(CompactionOutcome.COMPACTED, made.layers, made.records, made.tombstones)
    return made


def history(stores: Stores, repo: RepositoryId, branch: BranchId) -> CompactionHistory:
    """Return the recorded compactions of a branch since it was created."""
    now = fresh(stores, repo, branch)
    return _known(now, access.read(stores.kv, keys.compaction_history(now.repository, branch)))


@dataclass(frozen=True, slots=True)
class BranchCompactions:
    """Branch with its recorded compactions since it was created."""

    branch: BranchId
    history: CompactionHistory


def histories(
    stores: Stores, repository: RepositoryRecord, *, prefix: str = "", after: str = "", damaged: Damaged
) -> Iterator[BranchCompactions]:
    """Yield the histories of all existing branches that were compacted, lazily and in order of their names.

    `damaged` is called for each branch or history that cannot be read, which is then left out.
    """
    held = access.scan(stores.kv, keys.compaction_histories(repository), prefix=prefix, after=after, damaged=damaged)
    while batch := [(BranchId(name), kept.value) for name, kept in islice(held, _AT_ONCE)]:
        wanted = {name: keys.branch(repository, name) for name, _ in batch}
        branches = access.read_undamaged(stores.kv, wanted, damaged)
        for name, known in batch:
            branch = branches.get(name)
            if branch is not None and branch.value.uid == known.uid:
                yield BranchCompactions(name, known)


def _known(now: Registers, held: Held[CompactionHistory] | None) -> CompactionHistory:
    """Return the history of this branch, and not that of an earlier branch with the same name."""
    known = None if held is None or held.value.uid != now.branch.uid else held.value
    return CompactionHistory(uid=now.branch.uid) if known is None else known


def _remember(stores: Stores, now: Registers, run: CompactionRun) -> None:
    where = keys.compaction_history(now.repository, now.branch.id)
    for _ in range(_TRIES):
        held = access.read(stores.kv, where)
        with suppress(PredicateFailed):
            access.replace(stores.kv, where, held, _known(now, held).with_run(run))
            return
