"""Plan partitions of about equal work in a tree, or in the difference of two trees, from nodes only.

For readers that process partitions in different places. Ranges are not read, nor the nodes of subtrees that are
small enough. So the cost of a plan is proportional to the number of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graveler_core.committed.cursor import TreeCursor
from graveler_core.committed.diff import unshared
from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import Trees
from graveler_core.model.ids import MetarangeId

Span = tuple[bytes, bytes | None]
"""Key interval from the first key, inclusive, to the second, exclusive; `None`: no end."""
_FINENESS = 4
"""Minimum number of tree rows per partition, if the tree has as many."""


@dataclass(frozen=True, slots=True)
class PlannedPartition:
    """Partition of the work."""

    spans: tuple[Span, ...]
    """Sorted, disjoint key intervals."""
    entries: int
    """Approximate number of entries that the tree has there."""


def of_tree(trees: Trees, root: MetarangeId, spans: Sequence[Span], rows: int) -> list[PlannedPartition]:
    """Divide sorted key intervals into partitions with about equal numbers of entries, at most about `rows` each.

    Raises:
        CorruptData: A node on the path is missing or damaged.
    """
    most = max(rows // _FINENESS, 1)
    partitions: list[PlannedPartition] = []
    counted = ""
    for span in spans:
        found = list(_rows(trees, root, span, most))
        if len(found) == 1 and found[0].id == counted:  # another key of the same range
            found = [found[0]._replace(entries=0)]
        counted = found[-1].id if found else counted
        partitions += _partitions(span, found)
    return _joined(partitions, rows)


def of_difference(
    trees: Trees, roots: tuple[MetarangeId, MetarangeId], spans: Sequence[Span], rows: int
) -> list[PlannedPartition]:
    """Divide sorted key intervals as `of_tree` does, by the entries of ranges that are in only one of two trees. These
    are the ranges that a diff reads.
    """
    partitions: list[PlannedPartition] = []
    for span in spans:
        partitions += _partitions(span, list(unshared(trees, *roots, span)))
    return _joined(partitions, rows)


def _rows(trees: Trees, root: MetarangeId, span: Span, most: int) -> Iterator[NodeRow]:
    """Yield the rows that a key interval touches: ranges, and subtrees of at most `most` entries that are inside it."""
    start, end = span
    cursor = TreeCursor(trees, root, start, end)
    while (ahead := cursor.peek()) is not None:
        level, row = ahead
        inside = start <= row.min_key and (end is None or row.max_key < end)
        if level > 0 and (row.entries > most or not inside):
            cursor.descend()
        else:
            cursor.step()
            yield row


def _partitions(span: Span, rows: Sequence[NodeRow]) -> Iterator[PlannedPartition]:
    """Split a key interval where rows begin. The partitions cover all of it, because layers may have keys where the
    tree has none.
    """
    start, end = span
    begin, entries = start, 0
    for row in rows:
        if row.min_key > begin and entries:
            yield PlannedPartition(((begin, row.min_key),), entries)
            begin, entries = row.min_key, 0
        entries += row.entries
    yield PlannedPartition(((begin, end),), entries)


def _joined(partitions: Sequence[PlannedPartition], rows: int) -> list[PlannedPartition]:
    total = sum(partition.entries for partition in partitions)
    target = total / max(1, -(-total // rows))
    made: list[PlannedPartition] = []
    spans: list[Span] = []
    held = done = 0
    for partition in partitions:
        full = held + partition.entries > rows or done + held + partition.entries / 2 > target * (len(made) + 1)
        if held and full:
            made.append(PlannedPartition(tuple(spans), held))
            done, held, spans = done + held, 0, []
        if spans and spans[-1][1] == partition.spans[0][0]:
            spans[-1] = (spans[-1][0], partition.spans[0][1])
        else:
            spans.append(partition.spans[0])
        held += partition.entries
    return [*made, PlannedPartition(tuple(spans), held)] if spans else made
