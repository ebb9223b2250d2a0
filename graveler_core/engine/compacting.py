"""A compaction with its history: what sensors, metrics and people see of compactions afterwards.

The history is a record of the branch, changed by swaps; what a failure or a crash leaves out of it is missing there and
nowhere else.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from graveler_core.engine.compaction import Compacted
from graveler_core.engine.compaction import compact as compact_now
from graveler_core.engine.registers import fresh
from graveler_core.engine.retry import attempts
from graveler_core.errors import GravelerError, Kind, PredicateFailed
from graveler_core.model.compaction import CompactionHistory, CompactionRun, Outcome
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def compact(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Compacted:
    """`engine.compaction.compact`, remembered."""
    began, start = stores.clock.now(), stores.clock.monotonic()

    def ended(outcome: Outcome, layers: int = 0, records: int = 0, tombstones: int = 0) -> None:
        seconds = max(0.0, stores.clock.monotonic() - start)
        counts = {"layers": layers, "records": records, "tombstones": tombstones}
        with suppress(GravelerError):
            repository = fresh(stores, repo, branch).repository
            _remember(
                stores, repository, branch, CompactionRun(began=began, seconds=seconds, outcome=outcome, **counts)
            )

    try:
        made = compact_now(stores, repo, branch, every)
    except GravelerError as e:
        ended(_OUTCOMES.get(Kind(e.kind), Outcome.FAILED))
        raise
    ended(Outcome.COMPACTED, made.layers, made.records, made.tombstones)
    return made


_OUTCOMES = {
    Kind.NoChanges: Outcome.NOTHING,
    Kind.CompactionUnderWay: Outcome.BUSY,
    Kind.CompactionLost: Outcome.LOST,
}


def history(stores: Stores, repo: RepositoryId, branch: BranchId) -> CompactionHistory:
    """What compactions of a branch did, as far as it was written down."""
    now = fresh(stores, repo, branch)
    held = access.read(stores.kv, keys.compaction_history(now.repository, branch))
    return CompactionHistory() if held is None else held.value


def _remember(stores: Stores, repository: Repository, branch: BranchId, run: CompactionRun) -> None:
    where = keys.compaction_history(repository, branch)
    for _ in attempts(stores, f"history of compactions of {repository.id}/{branch}"):
        held = access.read(stores.kv, where)
        with suppress(PredicateFailed):
            if held is None:
                access.create(stores.kv, where, CompactionHistory().with_run(run))
            else:
                access.replace(stores.kv, where, held, held.value.with_run(run))
            return
