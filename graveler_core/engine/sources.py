"""Where the changes of a commit, a compaction or a merge come from, as values that can be sent to other machines.

A source gives the changes of any key interval, from stores that are opened there, and what is known of where they are
without reading them. What is known may be wrong: it decides how work is cut, never what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.resolutions import Rules
from graveler_core.committed.index.settled import parents_own
from graveler_core.committed.index.three_way import MergeInputs, three_way
from graveler_core.committed.outline import about_between, outline, unshared
from graveler_core.engine import view as views
from graveler_core.engine.pressure import counted_in
from graveler_core.engine.view import View
from graveler_core.kv.bulk import about_rows, split_points
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from graveler_core.staging.prefixes import Source, spans
from graveler_core.staging.stack import Stack
from graveler_core.stores import Stores

_DOUBTED = 65_536
"""Counters that tell of fewer records in a token are not believed: writers that were killed took their counts along.
The store counts such a token itself, which costs little if they were right."""
_LOOK = 256
"""So many rows of nodes tell how much two trees differ: fewer changes than that are known by the range."""


@dataclass(frozen=True, slots=True)
class Weight:
    """About so many changes stand at a key, or between it and the weight before it; None: behind all."""

    key: bytes | None
    rows: int


class ChangeSource(Protocol):
    """Changes, by key interval."""

    @property
    def repository(self) -> Repository:
        """Whose trees are changed."""
        ...

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        """The changes with `start` ≤ key < `end`: sorted tables in `RECORD_SCHEMA`."""
        ...

    def weights(self, stores: Stores, wanted: int) -> list[Weight]:
        """Where the changes are, in any order: of each part of the source at most some fan-outs times so many."""
        ...

    def rows(self, stores: Stores) -> int:
        """About how many changes there are, without reading them."""
        ...


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """What layers of a branch change in its compacted tree or its head."""

    repository: Repository
    branch: BranchId
    layers: tuple[Layer, ...]
    head: Index
    compacted: Index | None

    @classmethod
    def of(cls, branch: BranchId, view: View) -> StagedChanges:
        """Those of a view."""
        return cls(view.indexes.objects.repository, branch, view.stack.layers, view.head, view.compacted)

    def view(self, stores: Stores) -> View:
        """The view whose changes these are."""
        indexes = stores.indexes(self.repository)
        return View(Stack(stores.kv, indexes.trees.blobs, self.layers), indexes, self.head, self.compacted)

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        return views.changes(self.view(stores), start, end)

    def weights(self, stores: Stores, wanted: int) -> list[Weight]:
        found = self._masked(stores, wanted)
        for layer, rows in self._counted(stores).items():
            if isinstance(layer, SegmentLayer):
                pieces = segment_layer.manifest(self.view(stores).stack.blobs, layer.id).pieces
                found += [Weight(piece.max_key, piece.count) for piece in pieces]
            elif isinstance(layer, SealedToken) and rows:
                points = split_points(stores.kv, keys.staging(layer.token), wanted)
                each = rows // (len(points) + 1)
                found += [Weight(point.removeprefix(keys.STAGED), each) for point in points] + [Weight(None, each)]
        return found

    def rows(self, stores: Stores) -> int:
        indexes, base = stores.indexes(self.repository), self.compacted or self.head
        masked = 0
        for span in spans(self.layers):
            if span.source is Source.NOTHING:
                masked += about_between(indexes.trees, base.metarange_id, span.start, span.end)
        if self._restores():
            masked += _total(_differing(indexes, base, self.head, _LOOK))
        return sum(self._counted(stores).values()) + masked

    def _counted(self, stores: Stores) -> dict[Layer, int]:
        writes = counted_in(stores, self.repository, self.branch)
        found = dict[Layer, int]()
        for layer in self.layers:
            if isinstance(layer, SegmentLayer):
                found[layer] = layer.count
            elif isinstance(layer, SealedToken):
                counted = writes.get(layer.id, 0)
                found[layer] = counted if counted >= _DOUBTED else about_rows(stores.kv, keys.staging(layer.token))
        return found

    def _masked(self, stores: Stores, wanted: int) -> list[Weight]:
        """What removals and restorations change, as far as the trees tell."""
        indexes, base = stores.indexes(self.repository), self.compacted or self.head
        found = list[Weight]()
        for span in spans(self.layers):
            if span.source is Source.NOTHING:
                rows = outline(indexes.trees, base.metarange_id, wanted, span.start, span.end)
                found += [Weight(row.max_key, row.entries) for row in rows]
        return found + (_differing(indexes, base, self.head, wanted) if self._restores() else [])

    def _restores(self) -> bool:
        return any(span.source is Source.HEAD for span in spans(self.layers))


@dataclass(frozen=True, slots=True)
class MergedChanges:
    """What a merge changes in its destination."""

    repository: Repository
    inputs: MergeInputs
    rules: Rules

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        decisions = three_way(stores.indexes(self.repository), self.inputs, self.rules, start=start, end=end)
        return (decision.changes for decision in decisions)

    def weights(self, stores: Stores, wanted: int) -> list[Weight]:
        return _differing(stores.indexes(self.repository), self.inputs.base, self.inputs.source, wanted)

    def rows(self, stores: Stores) -> int:
        if self.inputs.changed is not None:
            return len(self.inputs.changed)
        return _total(self.weights(stores, _LOOK))


@dataclass(frozen=True, slots=True)
class ParentsOwn:
    """The entries of a commit's parent that a tree beside it has at another time or address, to be put back."""

    repository: Repository
    parent: Index
    tree: Index

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        return parents_own(stores.indexes(self.repository), self.parent, self.tree, start, end)

    def weights(self, stores: Stores, wanted: int) -> list[Weight]:
        return _differing(stores.indexes(self.repository), self.parent, self.tree, wanted)

    def rows(self, stores: Stores) -> int:
        return _total(self.weights(stores, _LOOK))


def _total(weights: Sequence[Weight]) -> int:
    return sum(weight.rows for weight in weights)


def _differing(indexes: Indexes, left: Index, right: Index, wanted: int) -> list[Weight]:
    """What stands in one metarange and not in the other; runs are small."""
    sides = unshared(indexes.trees, left.metarange_id, right.metarange_id, wanted)
    return [Weight(row.max_key, row.entries) for side in sides for row in side]
