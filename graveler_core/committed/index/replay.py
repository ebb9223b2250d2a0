"""Compute the effect of one source commit on the destination of a merge that keeps the source's commits. Never writes.

A change of the commit is applied if the destination did not change its key since the merge base, or if the merge as
a whole takes the key from the source. So the last replayed commit equals the result of a merge in one commit, except
for `rest`: values that resolutions name, and, after merges in both directions, keys that no replayed commit changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.diff import CHANGES, as_changes, differences
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.three_way import MergeInputs, keyed, ruled
from graveler_core.committed.trees import DECISIVE
from graveler_core.model.index import Index
from graveler_core.segments.merge import effect
from graveler_core.segments.sorted_keys import KEY


def replayed(
    indexes: Indexes, merge: MergeInputs, rules: MergeRules, before: Index, after: Index
) -> Iterator[pa.Table]:
    """Yield the changes from `before` to `after`, two states of the source, that the destination takes.

    The result is lazy: tables in `RECORD_SCHEMA`, with ascending keys across all of them. Memory: that of a diff.

    Raises:
        CorruptData: An object of an index that had to be read is missing or damaged.
    """
    for step in diff(indexes, before, after, wanted=CHANGES):
        keys = step.keys.to_pylist()
        base, source, destination = (
            lookup_many(indexes, side, keys, DECISIVE) for side in (merge.base, merge.source, merge.destination)
        )
        moved, changed = differences(base, destination), differences(base, source)
        free = pc.invert(pc.is_in(step.keys, moved.keys))
        if rules.resolutions is not None:
            free = pc.and_(free, pa.array(rules.resolutions.rows(keyed(step)) < 0))
        taken = changed.keys.take(pa.array(ruled(changed, moved, rules).taken))
        kept = pc.or_(free, pc.is_in(step.keys, taken))
        yield as_changes(step.filter(kept))


def rest(indexes: Indexes, index: Index, changes: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the changes that are effective on an index, page by page."""
    for page in changes:
        there = lookup_many(indexes, index, page.column(KEY).to_pylist(), DECISIVE)
        effective = effect(there, page).effective
        if effective.num_rows:
            yield effective
