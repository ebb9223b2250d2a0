"""Partitioned scans: divide the keys of a plan into partitions, and read the keys of one partition.

The content of a plan never changes, so partitions may be read in any order, by any process, and more than once. Each
call checks that the repository still exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from graveler_core.committed.diff import Differences, differences
from graveler_core.committed.partitioning import PlannedPartition
from graveler_core.engine.reading import pinned, snapshot
from graveler_core.engine.reading.pinned import still
from graveler_core.engine.reading.tables import change_batch
from graveler_core.engine.reading.view import commit_of
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import CommitId
from graveler_core.model.key_intervals import KeyInterval
from graveler_core.model.scan import ChangeScanPlan, EntryScanPlan, ScanPartition, ScanPlan
from graveler_core.stores import Stores


def partitions(stores: Stores, plan: ScanPlan, rows: int) -> list[ScanPartition]:
    """Divide the keys of a plan into partitions of at most about `rows` entries, in order.

    Raises:
        NotFound: The repository has been deleted.
        CorruptData: A node of a tree is missing or damaged.
    """
    planned = _planned(stores, plan, rows)
    return [ScanPartition(tuple(KeyInterval(*span) for span in each.spans), each.entries) for each in planned]


def batches(stores: Stores, plan: ScanPlan, intervals: Sequence[KeyInterval]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of sorted key intervals in key order, lazily, as non-empty batches: entries in `ENTRY_SCHEMA`,
    changes in `CHANGE_SCHEMA`.

    Raises:
        NotFound: The repository has been deleted.
        CorruptData: A part of the index that is needed is missing or damaged.
    """
    if isinstance(plan, EntryScanPlan):
        for table in pinned.entry_tables(stores, plan.content, intervals):
            yield from (batch for batch in table.to_batches() if batch.num_rows)
    else:
        yield from map(change_batch, _changes(stores, plan, intervals))


def next_offset(stores: Stores, repo: RepositoryRecord, after: CommitId | None, end: CommitId, most: int) -> CommitId:
    """Return the commit `most` first-parent steps after a commit, on the path to `end`, or `end` if there is no such
    commit.

    Args:
        stores: Stores of the repository.
        repo: The repository.
        after: The first commit of the path. `None` means the position before the root commit.
        end: The last commit of the path.
        most: Maximum number of steps, at least 1.
    """
    if after == end:
        return end
    behind = 0 if after is None else commit_of(stores, repo, after).header.generation
    path = deque([end], maxlen=most)
    while True:
        commit = commit_of(stores, repo, path[-1])
        parent = commit.header.parents[:1]
        if commit.header.generation <= behind:
            return end
        if not parent or parent == (after,):
            return path[0]
        path.append(parent[0])


def _planned(stores: Stores, plan: ScanPlan, rows: int) -> list[PlannedPartition]:
    if isinstance(plan, EntryScanPlan):
        return pinned.entry_partitions(stores, plan.content, plan.intervals, rows)
    repo = still(stores, plan.repository, plan.uid)
    if plan.before is None:
        content = pinned.pin_commit(stores, repo, plan.commit_id)
        return pinned.entry_partitions(stores, content, plan.intervals, rows)
    return pinned.difference_partitions(stores, repo, (plan.before, plan.commit_id), plan.intervals, rows)


def _changes(stores: Stores, plan: ChangeScanPlan, intervals: Sequence[KeyInterval]) -> Iterator[Differences]:
    repo = still(stores, plan.repository, plan.uid)
    if plan.before is None:
        tables = pinned.entry_tables(stores, pinned.pin_commit(stores, repo, plan.commit_id), intervals)
        yield from map(partial(differences, ENTRY_SCHEMA.empty_table()), tables)
    else:
        for interval in intervals:
            yield from snapshot.diff(stores, repo, (plan.before, plan.commit_id), interval)
