"""Choice of where a tree is built: on this machine with threads, or as partitions on the cluster. Only this module
decides.

A tree is built on this machine unless there is a cluster and the cluster wants more than one task for the work
(`Cluster.tasks`). Both ways produce the same tree and the same digest (`committed.partitioned_build`), so the result
does not show which one was used. The driver chooses the split points (`choose_split_points`), the workers apply the
changes (`_applying`), and the driver combines their results. It then continues as usual: header, layout, and the one
swap of its flow.

Partitions are safe for these reasons. The base of a build is a tree, which never changes. Its layers do not change
either, except by a late write into a sealed token. Such a write was not acknowledged and is written again. Each key is
read by the one task whose key interval contains it, so the result contains the write completely or not at all,
regardless of other tasks. A task that runs again may see the write when the first attempt did not. Each result is
correct for the state that its task saw, and only one of the results is used. If neighbouring tasks find different keys
for their common split point, because a late write added or removed a key, `SplitPointMoved` is raised, and the work is
repeated with the split points as planned.

A worker writes only ranges and nodes, named by their content, and nothing refers to them. A worker that dies, or a
driver that dies before its swap, leaves blobs that a sweep deletes once they are old. Blobs that a worker writes are
younger than the grace period, and blobs that it finds are renewed, as on this machine. A token that was dropped in
the meantime reads as empty. It left the record by a swap, so the install rule refuses the tree, as on this machine.

Split points are chosen so that tasks cost about the same, without reading the change. The cost of a task is its
number of changes plus the entries in the ranges of the base that the changes fall into: at most one range for each
change. So a small change of a large base is split where its changes are. A worker moves the split points of its
partition to the ends of ranges (`committed.split_point_alignment`).
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, zip_longest

from graveler_core.committed.index.few import FewChanges, few_changes
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.from_tree import TreeComparison, compared, settled, settled_by
from graveler_core.committed.index.successor import Successor, of_tree, on_metarange
from graveler_core.committed.index.three_way import MergeVerdict, three_way, together, verdict
from graveler_core.committed.node import NodeRow
from graveler_core.committed.node_statistics import outline
from graveler_core.committed.partitioned_build import SplitPointMoved, TreePartition, apply_partition, assemble
from graveler_core.committed.split_point_alignment import closed
from graveler_core.committed.split_points import Partition, SplitPoint, partitions_between
from graveler_core.engine.building.changes import ChangeSource, KeySample, MergedChanges, ParentsOwn, StagedChanges
from graveler_core.engine.reading.view import BranchView, changes
from graveler_core.model.ids import BranchId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.stores import Stores


def build_index(
    stores: Stores, source: ChangeSource, base: Index, here: Callable[[], Successor], *, verbatim: bool = False
) -> Successor:
    """Build the index that results from applying the changes of a source to `base`.

    Args:
        stores: Stores of the flow.
        source: The changes.
        base: Index to change.
        here: Function that builds the index on this machine.
        verbatim: As for `committed.apply.apply`.

    Raises:
        CorruptData: A part of the base or the source is missing or damaged.
    """
    tasks = _tasks(stores, source)
    if stores.cluster is None or tasks < 2:
        return here()
    indexes = stores.indexes(source.repository)
    root = fold(indexes, base, mapper=stores.executor.map)
    planned = partitions_between(choose_split_points(stores, source, root, tasks))
    for closes in (True, False):
        work = partial(_applying, _Work(source, root, verbatim, closes))
        parts = stores.cluster.map(work, list(zip_longest(planned, planned[1:])))
        try:
            return of_tree(assemble(indexes.trees, parts))
        except SplitPointMoved:
            continue
    raise AssertionError("only a closed split point can move")


def compact_view(stores: Stores, branch: BranchId, view: BranchView) -> Successor:
    """Build the tree of everything that a view shows, including exact times and addresses.

    Raises:
        CorruptData: A part of the base or the layers is missing or damaged.
    """

    def here() -> Successor:
        staged = stores.executor.ahead(changes(view))
        return on_metarange(view.indexes, view.base, staged, mapper=stores.executor.map, verbatim=True)

    return build_index(stores, StagedChanges.of(branch, view), view.base, here, verbatim=True)


def settle_on_head(stores: Stores, view: BranchView, tree: Successor) -> Successor:
    """Return `committed.index.from_tree.settled` of the tree of everything that a view shows, on the view's head.

    Raises:
        CorruptData: A part of the tree or the head is missing or damaged.
    """
    source = ParentsOwn(view.indexes.objects.repository, view.head, tree.index)
    tasks = _tasks(stores, source)
    if stores.cluster is None or tasks < 2:
        return settled(view.indexes, view.head, tree, mapper=stores.executor.map)

    def here() -> Successor:
        kept = source.changes(stores)
        return on_metarange(view.indexes, tree.index, kept, mapper=stores.executor.map, verbatim=True)

    planned = partitions_between(choose_split_points(stores, source, tree.index.metarange_id, tasks))
    found = reduce(operator.add, stores.cluster.map(partial(_comparing, source), planned))
    return settled_by(view.indexes, tree, found, lambda: build_index(stores, source, tree.index, here, verbatim=True))


def merge_few(stores: Stores, merged: MergedChanges) -> FewChanges | None:
    """Return `committed.index.few.few_changes` of a merge; `None` also if the cluster wants to read the changes.

    Raises:
        CorruptData: A part of an index is missing or damaged.
    """
    if _tasks(stores, merged) > 1:
        return None
    return few_changes(stores.indexes(merged.repository), merged.inputs, merged.rules)


def merge_verdict(stores: Stores, merged: MergedChanges) -> MergeVerdict:
    """Return the effect of a merge, its first conflicts, and the number of conflicts.

    Raises:
        CorruptData: A part of an index is missing or damaged.
    """
    tasks = _tasks(stores, merged)
    if stores.cluster is None or tasks < 2:
        return verdict(three_way(stores.indexes(merged.repository), merged.inputs, merged.rules))
    planned = partitions_between(choose_split_points(stores, merged, merged.inputs.destination.metarange_id, tasks))
    return together(stores.cluster.map(partial(_judging, merged), planned))


def _tasks(stores: Stores, source: ChangeSource) -> int:
    return 1 if stores.cluster is None else stores.cluster.tasks(source.rows(stores))


@dataclass(frozen=True, slots=True)
class _Work:
    source: ChangeSource
    base: MetarangeId
    verbatim: bool
    closes: bool
    """True if a partition begins and ends at the ends of ranges near its split points. False if it begins and ends
    exactly at its split points.
    """


def _applying(work: _Work, stores: Stores, planned: tuple[Partition, Partition | None]) -> TreePartition:
    """Build one partition of the new tree, in a worker. The next partition limits how far a split point may be
    moved.
    """
    interval, following = planned
    if work.closes:
        through = None if following is None else _closed(work, stores, following)
        interval = Partition(_closed(work, stores, interval), through)
    changes = work.source.changes(stores, interval.start, interval.end)
    trees = stores.trees(work.source.repository)
    return apply_partition(trees, work.base, changes, interval, verbatim=work.verbatim)


def _closed(work: _Work, stores: Stores, interval: Partition) -> SplitPoint | None:
    """Return the first split point of a partition, moved to the end of a range."""
    changes = work.source.changes(stores, interval.start, interval.end)
    return closed(stores.trees(work.source.repository), work.base, changes, interval)


def _comparing(source: ParentsOwn, stores: Stores, interval: Partition) -> TreeComparison:
    """Compare a tree with a commit in one partition, in a worker."""
    indexes = stores.indexes(source.repository)
    return compared(indexes, source.parent, source.tree, interval.start, interval.end)


def _judging(merged: MergedChanges, stores: Stores, interval: Partition) -> MergeVerdict:
    """Return the verdict of one partition of a merge without computing its changes, in a worker."""
    indexes = stores.indexes(merged.repository)
    found = three_way(indexes, merged.inputs, merged.rules, start=interval.start, end=interval.end)
    return verdict(found, max_bytes=0)


_FINENESS = 8
"""Samples per partition (oversampling factor)."""


def choose_split_points(stores: Stores, source: ChangeSource, base: MetarangeId, partitions: int) -> list[SplitPoint]:
    """Return open split points, in order, for at most `partitions` partitions of about equal work.

    Reads rows of nodes, and samples. For each partition, the number of both is a small multiple of the fan-out.

    Args:
        stores: Stores of the flow.
        source: The changes.
        base: Tree to change.
        partitions: Maximum number of partitions.
    """
    trees = stores.trees(source.repository)
    rows = outline(trees, base, partitions * _FINENESS)
    found = source.key_samples(stores, partitions * _FINENESS)
    samples = sorted(found, key=lambda sample: (sample.key is None, sample.key or b""))
    done = list(accumulate(_work(samples, rows, trees.cutting.mean_entries)))
    if not done or done[-1] == 0:
        return []
    each = done[-1] / partitions
    wished = {samples[bisect_left(done, each * number)].key for number in range(1, partitions)}
    return [SplitPoint(key) for key in sorted(key for key in wished if key is not None)]


def _work(samples: Sequence[KeySample], rows: Sequence[NodeRow], mean: int) -> list[int]:
    """Return the cost of the changes of each sample."""
    work, at = list[int](), 0
    for sample in samples:
        beside = 0
        while at < len(rows) and (sample.key is None or rows[at].max_key <= sample.key):
            beside += rows[at].entries
            at += 1
        work.append(sample.rows + min(beside, sample.rows * mean))
    return work
