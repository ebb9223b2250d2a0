"""Apply changes to a tree in partitions, each a key interval, on independent machines, and assemble the result.

`apply_partition` does the work whose result does not depend on other partitions: it writes ranges and closed nodes,
and returns the entries and rows at its edges. `assemble` splits the entries where partitions meet into ranges, and
writes these ranges and the nodes above. The result equals that of `apply` on the whole tree, for any split points,
because ranges and nodes are a function of the entries alone.

Nothing refers to the objects of a partition before its tree is assembled and installed. So a partition may be
processed twice, concurrently, or by machines that crash. Objects that are written again have the same id; others are
deleted by the sweep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from graveler_core.committed.apply import Applied, worked
from graveler_core.committed.build import PartitionBuilder, TreeBuilder
from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.concatenation import Joint
from graveler_core.committed.node import NodeRow
from graveler_core.committed.plan import plan
from graveler_core.committed.rewrite import rewrite
from graveler_core.committed.split_points import Partition, SplitPoint
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash
from graveler_core.segments.format import decode, encode
from graveler_core.segments.operations import OperationsDigest, OperationsPartition


class SplitPointMoved(Exception):
    """Partitions do not meet where the previous one ended, or no range ends there: they were given different
    changes.
    """


@dataclass(frozen=True, slots=True)
class TreePartition:
    """Result for one partition. It is small for a partition of any size: the entries of a few ranges and the rows of a
    few nodes.
    """

    interval: Partition
    head: pa.Table
    """Entries up to the first boundary, or all entries if there is none; empty if the partition begins a range."""
    bounded: bool
    """True if a boundary closes `head`."""
    rows: tuple[tuple[int, NodeRow], ...]
    """Ranges (level 0) and subtrees for `TreeBuilder.push`; at most a few times the fan-out per level."""
    tail: pa.Table
    """Entries after the last boundary."""
    operations: OperationsPartition
    added: int
    changed: int
    removed: int
    given: int
    """Number of changes in the input."""
    tombstones: int
    """Number of removals in the input."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the entries as segments."""
        counts = self.added, self.changed, self.removed, self.given, self.tombstones
        edges = bytes(encode(self.head)), bytes(encode(self.tail))
        return _unpickled, (self.interval, edges, (self.bounded, self.rows), self.operations, counts)


def apply_partition(
    trees: Trees,
    base: MetarangeId | None,
    changes: pa.Table | Iterable[pa.Table | pa.RecordBatch],
    interval: Partition,
    *,
    verbatim: bool = False,
) -> TreePartition:
    """Apply `changes` to one key interval of `base`. Nothing of other intervals is read.

    Memory: a few ranges and pages, for an interval of any size.

    Args:
        trees: The repository's trees.
        base: The tree to start from; `None` for no entries.
        changes: As in `apply`: all changes of the interval and no others.
        interval: The keys to process.
        verbatim: As in `apply`.

    Raises:
        InvalidInput: Keys are not in ascending order, or are outside the interval.
        CorruptData: A node or range of the base is missing or damaged.
    """
    stream, builder = ChangeStream(changes), PartitionBuilder(trees)
    joint = Joint(trees, builder, begun=interval.begins_a_range, partition=True)
    operations = OperationsPartition(RECORD_SCHEMA.empty_table())
    totals = np.zeros(3, np.int64)
    steps = plan(trees, base, stream, interval)
    for done in worked(steps, partial(rewrite, trees, verbatim=verbatim), joint):
        operations += done.operations
        totals += (done.added, done.changed, done.removed)
    if interval.through is None and joint.begun:
        joint.close()
    begun, rest, none = joint.begun, joint.rest(), ENTRY_SCHEMA.empty_table()
    head, tail = (joint.head, rest) if begun else (rest, none)
    counts = *totals.tolist(), stream.taken, stream.tombstones
    return TreePartition(interval, head, begun, tuple(builder.rows()), tail, operations, *counts)


def assemble(trees: Trees, parts: Iterable[TreePartition]) -> Applied:
    """Assemble partitions into a tree. Its nodes and ranges are stored when this returns. One partition is in memory at
    a time.

    Args:
        trees: The repository's trees.
        parts: Partitions of one base, in key order. Each begins where the previous one ended; the last has no end.

    Raises:
        SplitPointMoved: Two partitions meet at different keys, or no range ends at a split point that is marked as
            closed.
    """
    builder, operations = TreeBuilder(trees), OperationsDigest(trees.boundary_seed)
    joint, totals = Joint(trees, builder), np.zeros(5, np.int64)
    before: Partition | None = None
    for part in parts:
        _require_next(before, part.interval)
        before = part.interval
        if before.after is not None and before.after.closed:
            _require_closed(trees, before.after, joint)
        joint.take(part.head, part.bounded, part.rows, part.tail)
        operations.join(part.operations)
        totals += (part.added, part.changed, part.removed, part.given, part.tombstones)
    _require_next(before, None)
    joint.close()
    return Applied(builder.finish(), operations.hexdigest(), *totals.tolist())


def _require_next(before: Partition | None, following: Partition | None) -> None:
    """Check that partitions cover all keys: the first has no start, the last no end, and each begins where the previous
    ends.
    """
    end = None if before is None else before.through
    goes_on = before is None or end is not None
    if (following is not None) != goes_on or (following is not None and (following.after is None) != (end is None)):
        raise ValueError(f"partitions: must cover all keys in order, but {following} follows {before}")
    if following is not None and following.after != end:
        raise SplitPointMoved(f"partition ends at {end}, but the next one begins at {following.after}")


def _require_closed(trees: Trees, split_point: SplitPoint, joint: Joint) -> None:
    boundary = key_hash(split_point.key, trees.boundary_seed) < trees.cutting.threshold()
    if not (boundary and joint.is_closed() and joint.last == split_point.key):
        raise SplitPointMoved(
            f"split point {split_point.key!r}: must be the end of a range, but two partitions meet there without one"
        )


def _unpickled(
    interval: Partition,
    edges: tuple[bytes, bytes],
    inside: tuple[bool, tuple[tuple[int, NodeRow], ...]],
    operations: OperationsPartition,
    counts: tuple[int, int, int, int, int],
) -> TreePartition:
    head, tail = (decode(data, ENTRY_SCHEMA, "entries of a partition") for data in edges)
    return TreePartition(interval, head, *inside, tail, operations, *counts)
