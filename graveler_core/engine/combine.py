"""The step that merge, cherry-pick, transplant and revert share: what leads from one tree to another, onto a third."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.resolutions import Rules
from graveler_core.committed.index.successor import Successor, successor
from graveler_core.committed.index.three_way import MergeInputs, Verdict, three_way
from graveler_core.engine.building import built, judged
from graveler_core.engine.rows import conflicts_of
from graveler_core.engine.sources import MergedChanges
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.entities import Repository
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Combination:
    """A merge of three trees in which nothing is left to decide."""

    indexes: Indexes
    inputs: MergeInputs
    rules: Rules
    held: pa.Table | None
    """All its changes, where they are few enough to keep them."""

    def changes(self) -> Iterator[pa.Table]:
        """What it changes in the destination, in `RECORD_SCHEMA`, keys rising. May be asked for again."""
        if self.held is not None:
            yield self.held
        else:
            yield from (decision.changes for decision in three_way(self.indexes, self.inputs, self.rules))

    def applied(self, stores: Stores) -> Successor:
        """The destination's index with these changes."""

        def here() -> Successor:
            return successor(self.indexes, self.inputs.destination, self.changes(), mapper=stores.executor.map)

        if self.held is not None:
            return here()
        merged = MergedChanges(self.indexes.objects.repository, self.inputs, self.rules)
        return built(stores, merged, self.inputs.destination, here)


def combine(stores: Stores, repo: Repository, inputs: MergeInputs, rules: Rules) -> Successor:
    """Decide, then write: the changes from `base` to `source`, applied to `destination`. Raises as `decide`."""
    return decide(stores, repo, inputs, rules).applied(stores)


def decide(stores: Stores, repo: Repository, inputs: MergeInputs, rules: Rules) -> Combination:
    """Find out whether anything is left to decide. Writes nothing.

    Raises:
        Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first thousand.
        InvalidInput: the source did not change some of the paths that were resolved; `details["paths"]` names them.
    """
    indexes = stores.indexes(repo)
    if rules.strategy is not None and rules.resolutions is None:
        return Combination(indexes, inputs, rules, None)
    found = judged(stores, MergedChanges(repo, inputs, rules))
    _require_met(rules, found)
    if found.conflict_count:
        listed = conflicts_of(found.conflicts)
        raise Conflict(
            f"merge: both sides changed {found.conflict_count:,} paths, the first is {listed[0].path!r}; "
            "choose a strategy, resolve the paths, or change one side",
            kind=Kind.MergeConflict,
            conflicts=listed,
            count=found.conflict_count,
        )
    return Combination(indexes, inputs, rules, found.changes)


def _require_met(rules: Rules, found: Verdict) -> None:
    if rules.resolutions is None:
        return
    strange = np.ones(len(rules.resolutions.choices), np.bool_)
    strange[found.resolved] = False
    if strange.any():
        paths = [key.as_py().decode() for key in rules.resolutions.keys.filter(pa.array(strange)).column(0)]
        raise InvalidInput(
            f"merge: {len(paths):,} of the resolved paths were not changed by the source, the first is {paths[0]!r}",
            paths=paths,
        )
