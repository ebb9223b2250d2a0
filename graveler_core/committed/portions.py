"""Key intervals of about equal work in a tree, or in what differs between two, from nodes alone.

For who reads in parts, at different places. Ranges are not read, and of subtrees that are small enough not even the
nodes: what a plan costs goes with the number of portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graveler_core.committed.cursor import Cursor
from graveler_core.committed.diff import unshared
from graveler_core.committed.node import Row
from graveler_core.committed.trees import Trees
from graveler_core.model.ids import MetarangeId

Span = tuple[bytes, bytes | None]
"""Keys from the first to before the second; None: to the end."""
_FINENESS = 4
"""Pieces of which a portion is made, at least, where the tree has as many."""


@dataclass(frozen=True, slots=True)
class Portion:
    """A part of the work."""

    spans: tuple[Span, ...]
    """Sorted, apart from each other."""
    entries: int
    """About how many the tree has there."""


def of_tree(trees: Trees, root: MetarangeId, spans: Sequence[Span], rows: int) -> list[Portion]:
    """Cut sorted spans into portions of about equal numbers of entries, at most about `rows` each.

    Raises:
        CorruptData: a node on the way is missing or damaged.
    """
    most = max(rows // _FINENESS, 1)
    pieces: list[Portion] = []
    counted = ""
    for span in spans:
        found = list(_rows(trees, root, span, most))
        if len(found) == 1 and found[0].id == counted:  # a further key of the same range
            found = [found[0]._replace(entries=0)]
        counted = found[-1].id if found else counted
        pieces += _pieces(span, found)
    return _joined(pieces, rows)


def of_difference(
    trees: Trees, roots: tuple[MetarangeId, MetarangeId], spans: Sequence[Span], rows: int
) -> list[Portion]:
    """As `of_tree`, by the entries of the ranges that stand in one of two trees alone: those that a diff reads."""
    pieces: list[Portion] = []
    for span in spans:
        pieces += _pieces(span, list(unshared(trees, *roots, span)))
    return _joined(pieces, rows)


def _rows(trees: Trees, root: MetarangeId, span: Span, most: int) -> Iterator[Row]:
    """What a span touches: ranges, and subtrees of at most so many entries that lie inside of it."""
    start, end = span
    cursor = Cursor(trees, root, start, end)
    while (ahead := cursor.peek()) is not None:
        level, row = ahead
        inside = start <= row.min_key and (end is None or row.max_key < end)
        if level > 0 and (row.entries > most or not inside):
            cursor.descend()
        else:
            cursor.step()
            yield row


def _pieces(span: Span, rows: Sequence[Row]) -> Iterator[Portion]:
    """A span cut where rows begin. It is given whole, as layers may have keys where the tree has none."""
    start, end = span
    begin, entries = start, 0
    for row in rows:
        if row.min_key > begin and entries:
            yield Portion(((begin, row.min_key),), entries)
            begin, entries = row.min_key, 0
        entries += row.entries
    yield Portion(((begin, end),), entries)


def _joined(pieces: Sequence[Portion], rows: int) -> list[Portion]:
    total = sum(piece.entries for piece in pieces)
    share = total / max(1, -(-total // rows))
    made: list[Portion] = []
    spans: list[Span] = []
    held = done = 0
    for piece in pieces:
        full = held + piece.entries > rows or done + held + piece.entries / 2 > share * (len(made) + 1)
        if held and full:
            made.append(Portion(tuple(spans), held))
            done, held, spans = done + held, 0, []
        if spans and spans[-1][1] == piece.spans[0][0]:
            spans[-1] = (spans[-1][0], piece.spans[0][1])
        else:
            spans.append(piece.spans[0])
        held += piece.entries
    return [*made, Portion(tuple(spans), held)] if spans else made
