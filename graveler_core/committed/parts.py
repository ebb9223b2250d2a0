"""A change in parts that machines without anything in common work on, each a key interval, and what makes them one.

`apply_part` does all that is final whatever happens in other intervals: it writes ranges and closed nodes, and hands
back what stands at its edges. `assemble` cuts and writes the ranges where parts meet, and the nodes above. The result
is that of `apply` on the whole, for any cuts: ranges and nodes are a function of the entries alone.

Nothing that a part writes is named by anything before its tree is assembled and installed. So a part may be worked on
twice, by machines that die, and by several at once; what they write has the same id, or is left to the sweep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from graveler_core.committed.apply import Applied, worked
from graveler_core.committed.build import PartBuilder, TreeBuilder
from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.interval import Cut, Interval
from graveler_core.committed.joint import Joint
from graveler_core.committed.node import Row
from graveler_core.committed.plan import plan
from graveler_core.committed.rewrite import rewrite
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash
from graveler_core.segments.format import decode, encode
from graveler_core.segments.operations import OperationsDigest, OperationsPiece


class CutMoved(Exception):
    """Parts do not meet where one of them ended, or no range ends there: they have not seen the same changes."""


@dataclass(frozen=True, slots=True)
class Part:
    """What became of an interval. Small: some ranges' entries, some nodes' rows, whatever the interval holds."""

    interval: Interval
    head: pa.Table
    """Entries up to the first boundary, or all where there is none; none if the interval begins a range."""
    bounded: bool
    """Whether a boundary closes `head`."""
    rows: tuple[tuple[int, Row], ...]
    """Ranges (level 0) and subtrees for `TreeBuilder.push`, some fan-outs a level."""
    tail: pa.Table
    """Entries behind the last boundary."""
    operations: OperationsPiece
    added: int
    changed: int
    removed: int
    given: int
    """Changes that were asked for,"""
    tombstones: int
    """and how many of them were removals."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its entries as segments."""
        counts = self.added, self.changed, self.removed, self.given, self.tombstones
        edges = bytes(encode(self.head)), bytes(encode(self.tail))
        return _unpickled, (self.interval, edges, (self.bounded, self.rows), self.operations, counts)


def apply_part(
    trees: Trees,
    base: MetarangeId | None,
    changes: pa.Table | Iterable[pa.Table | pa.RecordBatch],
    interval: Interval,
    *,
    verbatim: bool = False,
) -> Part:
    """Make what `changes` turn an interval of `base` into. Reads nothing of other intervals.

    Memory is a few ranges and pages, whatever the interval holds.

    Args:
        trees: The repository's trees.
        base: The tree to start from; None: no entries.
        changes: As `apply`; all of the interval and no others.
        interval: The keys to work on.
        verbatim: As `apply`.

    Raises:
        InvalidInput: keys do not rise, or are outside of the interval.
        CorruptData: a node or range of the base is missing or damaged.
    """
    stream, builder = ChangeStream(changes), PartBuilder(trees)
    joint = Joint(trees, builder, begun=interval.begins_a_range)
    operations = OperationsPiece(RECORD_SCHEMA.empty_table())
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
    return Part(interval, head, begun, tuple(builder.rows()), tail, operations, *counts)


def assemble(trees: Trees, parts: Iterable[Part]) -> Applied:
    """The tree that parts make; its nodes and ranges are kept when this returns. One part is in memory at a time.

    Args:
        trees: The repository's trees.
        parts: Of one base, in key order; each goes on where the one before it ended, the last to the end.

    Raises:
        CutMoved: two parts meet at different keys, or at a cut that is not closed as they say.
    """
    builder, operations = TreeBuilder(trees), OperationsDigest(trees.boundary_seed)
    joint, totals = Joint(trees, builder), np.zeros(5, np.int64)
    before: Interval | None = None
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


def _require_next(before: Interval | None, following: Interval | None) -> None:
    """Parts make up all keys: the first has no start, the last no end, and each begins where the one before it ends."""
    end = None if before is None else before.through
    goes_on = before is None or end is not None
    if (following is not None) != goes_on or (following is not None and (following.after is None) != (end is None)):
        raise ValueError(f"parts are not all keys in order: {following} cannot come after {before}")
    if following is not None and following.after != end:
        raise CutMoved(f"a part ends at {end}, the next begins at {following.after}")


def _require_closed(trees: Trees, cut: Cut, joint: Joint) -> None:
    boundary = key_hash(cut.key, trees.boundary_seed) < trees.cutting.threshold()
    if not (boundary and joint.is_closed() and joint.last == cut.key):
        raise CutMoved(f"no range ends at {cut.key!r}, where two parts meet")


def _unpickled(
    interval: Interval,
    edges: tuple[bytes, bytes],
    inside: tuple[bool, tuple[tuple[int, Row], ...]],
    operations: OperationsPiece,
    counts: tuple[int, int, int, int, int],
) -> Part:
    head, tail = (decode(data, ENTRY_SCHEMA, "entries of a part") for data in edges)
    return Part(interval, head, *inside, tail, operations, *counts)
