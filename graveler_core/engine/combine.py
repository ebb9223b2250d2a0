"""The step that merge, cherry-pick, transplant and revert share: what leads from one tree to another, onto a third."""

from __future__ import annotations

from graveler_core.committed.index.successor import Successor, successor
from graveler_core.committed.index.three_way import MergeInputs, three_way, verdict
from graveler_core.engine.rows import conflicts_of
from graveler_core.errors import Conflict, Kind
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entities import Repository
from graveler_core.stores import Stores


def combine(stores: Stores, repo: Repository, inputs: MergeInputs, strategy: MergeStrategy | None) -> Successor:
    """Decide, then write: the changes from `base` to `source`, applied to `destination`.

    Raises:
        Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first thousand.
    """
    indexes = stores.indexes(repo)
    decided = verdict(three_way(indexes, inputs, strategy))
    if decided.conflict_count:
        listed = conflicts_of(decided.conflicts)
        raise Conflict(
            f"merge: both sides changed {decided.conflict_count:,} paths, the first is {listed[0].path!r}; "
            "choose a strategy or change one side",
            kind=Kind.MergeConflict,
            conflicts=listed,
            count=decided.conflict_count,
        )
    return successor(indexes, inputs.destination, decided.changes, mapper=stores.executor.map)
