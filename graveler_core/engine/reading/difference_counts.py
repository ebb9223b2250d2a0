"""Numbers of paths that differ between two commits, counted on this machine or, if there are many, by tasks on the
cluster.

Commits never change, so the tasks need no proof. Each key is counted by the one task whose key interval contains it,
however often a task runs. Nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from graveler_core.committed.diff import KEYS
from graveler_core.committed.node import NodeRow
from graveler_core.committed.node_statistics import unshared
from graveler_core.committed.split_points import Partition, SplitPoint, partitions_between
from graveler_core.engine.reading import history, snapshot
from graveler_core.engine.reading.changed_keys import changed_keys
from graveler_core.engine.reading.history import DiffQuery
from graveler_core.engine.reading.view import commit_of
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.key_intervals import key_interval
from graveler_core.stores import Cluster, Stores

_LOOK = 256
"""Number of rows of nodes that is enough to estimate how much two trees differ."""
_FINENESS = 8
"""Samples per partition (oversampling factor)."""
Sides = tuple[CommitId, CommitId]
Span = tuple[bytes, bytes | None]


def summary(stores: Stores, repo: RepositoryRecord, query: DiffQuery) -> ChangeSummary:
    """Return the number of paths that `history.diff` yields, by kind of change. Raises the same errors as
    `history.diff`.
    """
    sides, span = history.sides(stores, repo, query), query.within.interval()
    planned = [] if stores.cluster is None else _planned(stores, stores.cluster, repo, sides, span)
    if stores.cluster is None or len(planned) < 2:
        return history.count(snapshot.diff(stores, repo, sides, span, KEYS))
    added = changed = removed = 0
    for part in stores.cluster.map(partial(_counting, repo, sides), planned):
        added, changed, removed = added + part.added, changed + part.changed, removed + part.removed
    return ChangeSummary(added, changed, removed)


def _planned(stores: Stores, cluster: Cluster, repo: RepositoryRecord, sides: Sides, span: Span) -> list[Span]:
    """Divide a key interval into intervals of about equal work. Return an empty list if there is little work."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    if changed_keys(stores, repo, before, after) is not None:
        return []
    roots = before.layout.index.metarange_id, after.layout.index.metarange_id

    def differing(wanted: int) -> list[NodeRow]:
        found = (row for side in unshared(stores.trees(repo), *roots, wanted) for row in side)
        return [row for row in found if row.max_key >= span[0] and (span[1] is None or row.min_key < span[1])]

    tasks = cluster.tasks(sum(row.entries for row in differing(_LOOK)))
    if tasks < 2:
        return []
    return _within(partitions_between(_split_points(differing(tasks * _FINENESS), tasks)), span)


def _split_points(rows: list[NodeRow], tasks: int) -> list[SplitPoint]:
    """Return keys with about the same number of entries between them. Without rows there are none."""
    if not rows:
        return []
    rows.sort(key=lambda row: row.max_key)
    done = list(accumulate(row.entries for row in rows))
    each = done[-1] / tasks
    found = {rows[bisect_left(done, each * number)].max_key for number in range(1, tasks)}
    return [SplitPoint(key) for key in sorted(found - {rows[-1].max_key})]


def _within(cut: Sequence[Partition], span: Span) -> list[Span]:
    clipped = [key_interval(b"", max(part.start, span[0]), _least(part.end, span[1])) for part in cut]
    return [(start, end) for start, end in clipped if end is None or start < end]


def _least(one: bytes | None, other: bytes | None) -> bytes | None:
    return min((end for end in (one, other) if end is not None), default=None)


def _counting(repo: RepositoryRecord, sides: Sides, stores: Stores, span: Span) -> ChangeSummary:
    """Count one key interval, in a worker."""
    return history.count(snapshot.diff(stores, repo, sides, span, KEYS))
