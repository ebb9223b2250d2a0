"""How many paths differ between two commits: counted here, or in parts on the cluster where they are many.

Commits never change, so parts need no proof: each key is counted by the one part whose interval it is in, however often
a part is worked on. Nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from graveler_core.committed.diff import KEYS
from graveler_core.committed.interval import Cut, Interval, intervals
from graveler_core.committed.node import Row
from graveler_core.committed.outline import unshared
from graveler_core.committed.scan import key_interval
from graveler_core.engine import history, snapshot
from graveler_core.engine.chain import changed_keys
from graveler_core.engine.history import DiffQuery
from graveler_core.engine.view import commit_of
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.names import prefix_key
from graveler_core.stores import Cluster, Stores

_LOOK = 256
"""So many rows of nodes tell how much two trees differ."""
_FINENESS = 8
"""So many rows a piece: a piece is about so exact."""
Sides = tuple[CommitId, CommitId]
Span = tuple[bytes, bytes | None]


def summary(stores: Stores, repo: Repository, query: DiffQuery) -> ChangeSummary:
    """How many paths `history.diff` would give, by kind. Raises as it does."""
    sides, span = history.sides(stores, repo, query), key_interval(prefix_key(query.prefix))
    planned = [] if stores.cluster is None else _planned(stores, stores.cluster, repo, sides, span)
    if stores.cluster is None or len(planned) < 2:
        return history.count(snapshot.diff(stores, repo, sides, span, KEYS))
    added = changed = removed = 0
    for part in stores.cluster.map(partial(_counting, repo, sides), planned):
        added, changed, removed = added + part.added, changed + part.changed, removed + part.removed
    return ChangeSummary(added, changed, removed)


def _planned(stores: Stores, cluster: Cluster, repo: Repository, sides: Sides, span: Span) -> list[Span]:
    """Spans that make up one, of about equal work; none where there is little."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    if changed_keys(stores, repo, before, after) is not None:
        return []
    roots = before.layout.index.metarange_id, after.layout.index.metarange_id

    def differing(wanted: int) -> list[Row]:
        found = (row for side in unshared(stores.trees(repo), *roots, wanted) for row in side)
        return [row for row in found if row.max_key >= span[0] and (span[1] is None or row.min_key < span[1])]

    pieces = cluster.pieces(sum(row.entries for row in differing(_LOOK)))
    if pieces < 2:
        return []
    return _within(intervals(_cuts(differing(pieces * _FINENESS), pieces)), span)


def _cuts(rows: list[Row], pieces: int) -> list[Cut]:
    """Keys that have about as many entries between them."""
    rows.sort(key=lambda row: row.max_key)
    done = list(accumulate(row.entries for row in rows))
    each = done[-1] / pieces
    found = {rows[bisect_left(done, each * piece)].max_key for piece in range(1, pieces)}
    return [Cut(key) for key in sorted(found - {rows[-1].max_key})]


def _within(cut: Sequence[Interval], span: Span) -> list[Span]:
    clipped = [key_interval(b"", max(part.start, span[0]), _least(part.end, span[1])) for part in cut]
    return [(start, end) for start, end in clipped if end is None or start < end]


def _least(one: bytes | None, other: bytes | None) -> bytes | None:
    return min((end for end in (one, other) if end is not None), default=None)


def _counting(repo: Repository, sides: Sides, stores: Stores, span: Span) -> ChangeSummary:
    """In a worker: one span."""
    return history.count(snapshot.diff(stores, repo, sides, span, KEYS))
