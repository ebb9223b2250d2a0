"""Where a tree is built: here, by threads, or in parts on the cluster. The one place that decides it.

Here, unless there is a cluster and it wants more than one piece of the work (`Cluster.pieces`). Both give the same tree
and the same digest (`committed.parts`), so nobody can tell afterwards. The driver cuts (`cuts`), machines apply
(`_applying`), and the driver assembles what they hand back and goes on as ever: header, layout, the one swap of its
flow.

Why parts are safe. The base of a build is a tree, which never changes. Its layers are frozen but for a late write into
a sealed token, which was not acknowledged and is written again: each key is read by the one part whose interval it is
in, so the result holds the write or it does not, whole, whatever other parts saw. A part that is worked on again may
see it where the first attempt did not; each result is right for what it saw, and only one of them is taken. Where
neighbours find different keys to meet at, since a late write put or removed one, `CutMoved` says so, and the work is
done again with the cuts as they were planned.

A worker writes ranges, nodes and nothing else, all by their content and named by nobody: a worker that dies, or a
driver that dies before its swap, leaves blobs that a sweep takes once they are old. What it writes is younger than the
grace, and what it finds is renewed, as here. A token that was dropped meanwhile reads as empty: it left the record by
a swap, and so the install rule refuses the tree, as it does here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import zip_longest

from graveler_core.committed.closing import closed
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.settled import Compared, compared, settled, settled_by
from graveler_core.committed.index.successor import Successor, of_tree, on_metarange
from graveler_core.committed.index.three_way import Verdict, three_way, together, verdict
from graveler_core.committed.interval import Cut, Interval, intervals
from graveler_core.committed.parts import CutMoved, Part, apply_part, assemble
from graveler_core.engine.cuts import cuts
from graveler_core.engine.sources import ChangeSource, MergedChanges, ParentsOwn, StagedChanges
from graveler_core.engine.view import View, changes
from graveler_core.model.ids import BranchId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.stores import Stores


def built(
    stores: Stores, source: ChangeSource, base: Index, here: Callable[[], Successor], *, verbatim: bool = False
) -> Successor:
    """The index that the changes of a source turn `base` into.

    Args:
        stores: Where it is kept.
        source: The changes.
        base: What they change.
        here: Builds it on this machine.
        verbatim: As `committed.apply.apply`.

    Raises:
        CorruptData: something of base or source is missing or damaged.
    """
    pieces = _pieces(stores, source)
    if stores.cluster is None or pieces < 2:
        return here()
    indexes = stores.indexes(source.repository)
    root = fold(indexes, base, mapper=stores.executor.map)
    planned = intervals(cuts(stores, source, root, pieces))
    for closes in (True, False):
        work = partial(_applying, _Work(source, root, verbatim, closes))
        parts = stores.cluster.map(work, list(zip_longest(planned, planned[1:])))
        try:
            return of_tree(assemble(indexes.trees, parts))
        except CutMoved:
            continue
    raise AssertionError("only a closed cut can move")


def compacted_onto(stores: Stores, branch: BranchId, view: View) -> Successor:
    """The tree of all that a view shows, to the time and the address: what its layers say, on what they stand on.

    Raises:
        CorruptData: something of base or layers is missing or damaged.
    """

    def here() -> Successor:
        staged = stores.executor.ahead(changes(view))
        return on_metarange(view.indexes, view.base, staged, mapper=stores.executor.map, verbatim=True)

    return built(stores, StagedChanges.of(branch, view), view.base, here, verbatim=True)


def settled_on(stores: Stores, view: View, tree: Successor) -> Successor:
    """`committed.index.settled.settled` of the tree of all that a view shows, on the view's head.

    Raises:
        CorruptData: a part of either is missing or damaged.
    """
    source = ParentsOwn(view.indexes.objects.repository, view.head, tree.index)
    pieces = _pieces(stores, source)
    if stores.cluster is None or pieces < 2:
        return settled(view.indexes, view.head, tree, mapper=stores.executor.map)

    def here() -> Successor:
        kept = source.changes(stores)
        return on_metarange(view.indexes, tree.index, kept, mapper=stores.executor.map, verbatim=True)

    planned = intervals(cuts(stores, source, tree.index.metarange_id, pieces))
    found = reduce(operator.add, stores.cluster.map(partial(_comparing, source), planned))
    return settled_by(view.indexes, tree, found, lambda: built(stores, source, tree.index, here, verbatim=True))


def judged(stores: Stores, merged: MergedChanges) -> Verdict:
    """What a merge does and where it cannot decide: the first conflicts, and how many there are.

    Raises:
        CorruptData: a part of an index is missing or damaged.
    """
    pieces = _pieces(stores, merged)
    if stores.cluster is None or pieces < 2:
        return verdict(three_way(stores.indexes(merged.repository), merged.inputs, merged.rules))
    planned = intervals(cuts(stores, merged, merged.inputs.destination.metarange_id, pieces))
    return together(stores.cluster.map(partial(_judging, merged), planned))


def _pieces(stores: Stores, source: ChangeSource) -> int:
    return 1 if stores.cluster is None else stores.cluster.pieces(source.rows(stores))


@dataclass(frozen=True, slots=True)
class _Work:
    source: ChangeSource
    base: MetarangeId
    verbatim: bool
    closes: bool
    """Whether a part begins and ends where ranges do, near its cuts, or at its cuts."""


def _applying(work: _Work, stores: Stores, planned: tuple[Interval, Interval | None]) -> Part:
    """In a worker: one interval of the new tree. The interval behind it says how far a cut may be moved."""
    interval, following = planned
    if work.closes:
        through = None if following is None else _closed(work, stores, following)
        interval = Interval(_closed(work, stores, interval), through)
    changes = work.source.changes(stores, interval.start, interval.end)
    trees = stores.trees(work.source.repository)
    return apply_part(trees, work.base, changes, interval, verbatim=work.verbatim)


def _closed(work: _Work, stores: Stores, interval: Interval) -> Cut | None:
    """The cut that an interval begins with, moved to where a range ends."""
    changes = work.source.changes(stores, interval.start, interval.end)
    return closed(stores.trees(work.source.repository), work.base, changes, interval)


def _comparing(source: ParentsOwn, stores: Stores, interval: Interval) -> Compared:
    """In a worker: how a tree differs from a commit in one interval."""
    indexes = stores.indexes(source.repository)
    return compared(indexes, source.parent, source.tree, interval.start, interval.end)


def _judging(merged: MergedChanges, stores: Stores, interval: Interval) -> Verdict:
    """In a worker: one interval of a merge, without its changes."""
    indexes = stores.indexes(merged.repository)
    found = three_way(indexes, merged.inputs, merged.rules, start=interval.start, end=interval.end)
    return verdict(found, max_bytes=0)
