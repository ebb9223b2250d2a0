"""Estimates of the distribution of entries, from nodes only, for planning. No ranges are read."""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import Trees, read_node
from graveler_core.model.ids import MetarangeId


def outline(
    trees: Trees, root: MetarangeId, wanted: int, start: bytes = b"", end: bytes | None = None
) -> list[NodeRow]:
    """Return rows of one level that cover all keys with `start` ≤ key < `end`.

    The level is the highest one with at least `wanted` such rows, or that of the ranges. Only nodes of that level
    and above are read: fewer than `wanted`, plus the parents of the returned rows.

    Raises:
        CorruptData: A node is missing or damaged.
    """
    level, rows = _root(trees, root)
    rows = _within(rows, start, end)
    while level > 0 and len(rows) < wanted:
        level, rows = level - 1, _within(_below(trees, rows), start, end)
    return rows


def about_between(trees: Trees, root: MetarangeId, start: bytes, end: bytes | None) -> int:
    """Return the approximate number of entries with `start` ≤ key < `end` (`None`: no end).

    The ranges at both edges are counted in full. Only the nodes along the edges are read. Raises as `outline`.
    """
    level, rows = _root(trees, root)
    count = 0
    while True:
        rows = _within(rows, start, end)
        cut = [row for row in rows if level and (row.min_key < start or (end is not None and row.max_key >= end))]
        count += sum(row.entries for row in rows if row not in cut)
        if not cut:
            return count
        level, rows = level - 1, _below(trees, cut)


def unshared(trees: Trees, left: MetarangeId, right: MetarangeId, wanted: int) -> tuple[list[NodeRow], list[NodeRow]]:
    """Return the rows of each tree that the other does not have, of the highest level with at least `wanted` of them,
    or the ranges.

    Raises:
        CorruptData: A node is missing or damaged.
    """
    if left == right:
        return [], []
    (level, ours), (other, theirs) = _root(trees, left), _root(trees, right)
    while True:
        if level == other:
            shared = {row.id for row in ours} & {row.id for row in theirs}
            ours, theirs = ([row for row in side if row.id not in shared] for side in (ours, theirs))
            if level == 0 or len(ours) + len(theirs) >= wanted:
                return ours, theirs
        top = max(level, other)
        if level == top:
            level, ours = level - 1, _below(trees, ours)
        if other == top:
            other, theirs = other - 1, _below(trees, theirs)


def _root(trees: Trees, id: str) -> tuple[int, list[NodeRow]]:
    node = read_node(trees, id)
    return node.level, list(node.rows)


def _below(trees: Trees, rows: Iterable[NodeRow]) -> list[NodeRow]:
    return [row for above in rows for row in read_node(trees, above.id).rows]


def _within(rows: Iterable[NodeRow], start: bytes, end: bytes | None) -> list[NodeRow]:
    return [row for row in rows if row.max_key >= start and (end is None or row.min_key < end)]
