"""Where to cut a change into about equal work, from what is known of it without reading it.

Work is changes, and of the base the entries in ranges that they fall into: at most a range for each change. So a small
change on a large base is cut where its changes are, and what it does not touch weighs nothing. Whoever works on
a part moves its cuts to where ranges end (`committed.closing`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from graveler_core.committed.interval import Cut
from graveler_core.committed.node import Row
from graveler_core.committed.outline import outline
from graveler_core.engine.sources import ChangeSource, Weight
from graveler_core.model.ids import MetarangeId
from graveler_core.stores import Stores

_FINENESS = 8
"""So many weights a piece are asked for: a piece is about so exact."""


def cuts(stores: Stores, source: ChangeSource, base: MetarangeId, pieces: int) -> list[Cut]:
    """Open cuts that make at most so many pieces of about equal work, in order.

    Rows of nodes that are read, and weights: some fan-outs for each piece.

    Args:
        stores: Where they are.
        source: The changes.
        base: The tree that they change.
        pieces: How many there may be.
    """
    trees = stores.trees(source.repository)
    rows = outline(trees, base, pieces * _FINENESS)
    found = source.weights(stores, pieces * _FINENESS)
    weights = sorted(found, key=lambda weight: (weight.key is None, weight.key or b""))
    done = list(accumulate(_work(weights, rows, trees.cutting.mean_entries)))
    if not done or done[-1] == 0:
        return []
    each = done[-1] / pieces
    wished = {weights[bisect_left(done, each * piece)].key for piece in range(1, pieces)}
    return [Cut(key) for key in sorted(key for key in wished if key is not None)]


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
