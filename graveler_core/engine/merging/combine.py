"""Step that merge, cherry-pick, transplant and revert share: apply the difference of two trees to a third one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graveler_core.committed.index.few import FewChanges
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.successor import Successor, small_successor, successor
from graveler_core.committed.index.three_way import MergeInputs, MergeVerdict, three_way
from graveler_core.engine.building.changes import MergedChanges
from graveler_core.engine.building.trees import build_index, merge_few, merge_verdict
from graveler_core.engine.reading.tables import conflicts_of
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.counting import counted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Combination:
    """Merge of three trees in which every conflict is resolved."""

    indexes: Indexes
    inputs: MergeInputs
    rules: MergeRules
    held: pa.Table | None
    """All changes, if there are few enough to keep them in memory."""
    few: FewChanges | None = None
    """All changes as records, if there are few enough to apply them one by one."""

    def changes(self) -> Iterator[pa.Table]:
        """Yield the changes against the destination in `RECORD_SCHEMA`, in key order. May be called again."""
        if self.few is not None:
            yield self.few.table()
        elif self.held is not None:
            yield self.held
        else:
            yield from (decision.changes for decision in three_way(self.indexes, self.inputs, self.rules))

    def applied(self, stores: Stores) -> Successor:
        """Return the destination's index with these changes."""
        onto, mapper = self.inputs.destination, stores.executor.map
        if self.few is not None:
            return small_successor(self.indexes, onto, self.few.changes, self.few.held, mapper=mapper)

        def here() -> Successor:
            return successor(self.indexes, onto, self.changes(), mapper=mapper)

        if self.held is not None:
            return here()
        merged = MergedChanges(self.indexes.objects.repository, self.inputs, self.rules)
        return build_index(stores, merged, onto, here)


@dataclass(frozen=True, slots=True)
class ConflictWords:
    """Parts of the error about conflicts: the operation, the sides that changed the paths, and the advice."""

    changed: str = "merge: both sides changed"
    advice: str = "choose a strategy, resolve the paths, or change one side"


MERGE = ConflictWords()


def combine(
    stores: Stores, repo: RepositoryRecord, inputs: MergeInputs, rules: MergeRules, words: ConflictWords
) -> Successor:
    """Apply the differences between `base` and `source` to `destination`. Nothing is written before all paths are
    decided. Raises the same errors as `decide`.
    """
    return decide(stores, repo, inputs, rules, words).applied(stores)


def decide(
    stores: Stores, repo: RepositoryRecord, inputs: MergeInputs, rules: MergeRules, words: ConflictWords = MERGE
) -> Combination:
    """Check that every conflict is resolved, and return the merge. Write nothing.

    Raises:
        Conflict: Both sides changed some paths (`MergeConflict`). `details["conflicts"]` lists the first thousand.
        InvalidInput: The source did not change some of the resolved paths. `details["paths"]` names them.
    """
    indexes = stores.indexes(repo)
    few = merge_few(stores, MergedChanges(repo, inputs, rules))
    if few is not None:
        return Combination(indexes, inputs, rules, None, few)
    if rules.strategy is not None and rules.resolutions is None:
        return Combination(indexes, inputs, rules, None)
    found = merge_verdict(stores, MergedChanges(repo, inputs, rules))
    _require_met(rules, found)
    if found.conflict_count:
        listed = conflicts_of(found.conflicts)
        raise Conflict(
            f"{words.changed} {counted(found.conflict_count, 'path')}, the first is {listed[0].path!r}; {words.advice}",
            kind=Kind.MergeConflict,
            conflicts=listed,
            count=found.conflict_count,
        )
    return Combination(indexes, inputs, rules, found.changes)


def _require_met(rules: MergeRules, found: MergeVerdict) -> None:
    if rules.resolutions is None:
        return
    strange = np.ones(len(rules.resolutions.choices), np.bool_)
    strange[found.resolved] = False
    if strange.any():
        paths = [key.as_py().decode() for key in rules.resolutions.keys.filter(pa.array(strange)).column(0)]
        raise InvalidInput(
            f"merge: {counted(len(paths), 'resolved path was', 'resolved paths were')} not changed by the source, "
            f"the first is {paths[0]!r}",
            paths=paths,
        )
