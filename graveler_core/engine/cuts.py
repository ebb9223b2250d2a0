"""Where to cut a change into about equal work, from what is known of it without reading it.

Work is changes, and of the base the entries in ranges that they fall into: at most a range for each change. So a small
change on a large base is cut where its changes are, and what it does not touch weighs nothing. A cut is moved a little,
to an edge of the base that stays, where the source tells of that cheaply; else it stays open, which costs a range on
either side (`committed.parts`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from graveler_core.committed.interval import Cut
from graveler_core.committed.node import Row
from graveler_core.committed.outline import outline
from graveler_core.committed.trees import Trees
from graveler_core.engine.sources import ChangeSource, Weight
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash
from graveler_core.stores import Stores

_FINENESS = 8
"""So many weights a piece are asked for: a piece is about so exact."""
_SLACK = 4
"""A cut is moved by one of so many parts of a piece at most."""


def cuts(stores: Stores, source: ChangeSource, base: MetarangeId, pieces: int, *, closed: bool = True) -> list[Cut]:
    """Cuts that make at most so many pieces of about equal work, in order.

    Rows of nodes that are read, and weights: some fan-outs for each piece.

    Args:
        stores: Where they are.
        source: The changes.
        base: The tree that they change.
        pieces: How many there may be.
        closed: Whether to look for boundaries that survive.
    """
    trees = stores.trees(source.repository)
    rows = outline(trees, base, pieces * _FINENESS)
    found = source.weights(stores, pieces * _FINENESS)
    weights = sorted(found, key=lambda weight: (weight.key is None, weight.key or b""))
    done = list(accumulate(_work(weights, rows, trees.cutting.mean_entries)))
    if not done or done[-1] == 0:
        return []
    each = done[-1] / pieces
    wished = dict[bytes, bytes]()
    """Keys to cut at, and the key behind which each may be moved."""
    for piece in range(1, pieces):
        key = weights[bisect_left(done, each * piece)].key
        least = weights[bisect_left(done, each * (piece - 1 / _SLACK))].key
        if key is not None and least is not None:
            wished.setdefault(key, least)
    edges = _edges(trees, rows) if closed else []
    moved = {key: edge for key, least in wished.items() if (edge := _edge(edges, least, key)) is not None}
    staying = source.staying(stores, sorted(set(moved.values())))
    kept = {key: False for key in wished if moved.get(key) not in staying} | dict.fromkeys(staying, True)
    return [Cut(key, kept[key]) for key in sorted(kept)]


def _work(weights: Sequence[Weight], rows: Sequence[Row], mean: int) -> list[int]:
    """What the changes of each weight cost."""
    work, at = list[int](), 0
    for weight in weights:
        beside = 0
        while at < len(rows) and (weight.key is None or rows[at].max_key <= weight.key):
            beside += rows[at].entries
            at += 1
        work.append(weight.rows + min(beside, weight.rows * mean))
    return work


def _edges(trees: Trees, rows: Sequence[Row]) -> list[bytes]:
    threshold = trees.cutting.threshold()
    return [row.max_key for row in rows if key_hash(row.max_key, trees.boundary_seed) < threshold]


def _edge(edges: Sequence[bytes], least: bytes, key: bytes) -> bytes | None:
    """The last edge behind one key and not behind another."""
    at = bisect_right(edges, key)
    return edges[at - 1] if at and edges[at - 1] > least else None
