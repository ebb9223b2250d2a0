"""Sources of the changes of a commit, a compaction or a merge, as values that can be sent to other machines.

A source returns the changes of any key interval, from stores that the worker opens. It also returns an estimate of
where its changes are, without reading them. The estimate may be wrong: it affects how work is divided, but never the
result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from graveler_core.committed.index.from_tree import parents_own
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.three_way import MergeInputs, three_way
from graveler_core.committed.node_statistics import about_between, outline, unshared
from graveler_core.engine.reading import view as views
from graveler_core.engine.reading.view import BranchView
from graveler_core.engine.staging.pressure import counted_in
from graveler_core.kv.bulk import about_rows, split_points
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from graveler_core.staging.prefixes import LookupSource, spans
from graveler_core.staging.stack import Stack
from graveler_core.stores import Stores

_DOUBTED = 65_536
"""Minimum number of counted records for which the counters of a token are trusted. Writers that were killed lost their
last counts.

Below this number, the store counts the records of the token itself. This is cheap if the counters were correct.
"""
_LOOK = 256
"""Number of rows of nodes that is enough to estimate the number of differences between two trees. If there are fewer
changes, the ranges that contain them are found.
"""


@dataclass(frozen=True, slots=True)
class KeySample:
    """Estimated number of changes with keys in (previous key, key]; `None` means after the last key."""

    key: bytes | None
    rows: int


class ChangeSource(Protocol):
    """Changes by key interval."""

    @property
    def repository(self) -> RepositoryRecord:
        """Repository whose trees are changed."""

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        """Yield the changes with `start` ≤ key < `end` as sorted tables in `RECORD_SCHEMA`."""

    def key_samples(self, stores: Stores, wanted: int) -> list[KeySample]:
        """Return samples of the positions of the changes, in any order. The number of samples of each layer or tree of
        the source is at most a small multiple of `wanted` times the fan-out of nodes.
        """

    def rows(self, stores: Stores) -> int:
        """Return the estimated number of changes, without reading them."""


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """Changes of the layers of a branch against its compacted tree or its head."""

    repository: RepositoryRecord
    branch: BranchId
    layers: tuple[Layer, ...]
    head: Index
    compacted: Index | None

    @classmethod
    def of(cls, branch: BranchId, view: BranchView) -> StagedChanges:
        """Return the changes of a view."""
        return cls(view.indexes.objects.repository, branch, view.stack.layers, view.head, view.compacted)

    def view(self, stores: Stores) -> BranchView:
        """Return the view whose changes these are."""
        indexes = stores.indexes(self.repository)
        return BranchView(Stack(stores.kv, indexes.trees.blobs, self.layers), indexes, self.head, self.compacted)

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        return views.changes(self.view(stores), start, end)

    def key_samples(self, stores: Stores, wanted: int) -> list[KeySample]:
        found = self._masked(stores, wanted)
        for layer, rows in self._counted(stores).items():
            if isinstance(layer, SegmentLayer):
                segments = segment_layer.manifest(self.view(stores).stack.blobs, layer.id).pieces
                found += [KeySample(segment.max_key, segment.count) for segment in segments]
            elif isinstance(layer, SealedToken) and rows:
                points = split_points(stores.kv, keys.staging(layer.token), wanted)
                each = rows // (len(points) + 1)
                found += [KeySample(point.removeprefix(keys.STAGED), each) for point in points] + [
                    KeySample(None, each)
                ]
        return found

    def rows(self, stores: Stores) -> int:
        indexes, base = stores.indexes(self.repository), self.compacted or self.head
        masked = 0
        for span in spans(self.layers):
            if span.source is LookupSource.NOTHING:
                masked += about_between(indexes.trees, base.metarange_id, span.start, span.end)
        if self._restores():
            masked += _total(_differing(indexes, base, self.head, _LOOK))
        return sum(self._counted(stores).values()) + masked

    def _counted(self, stores: Stores) -> dict[Layer, int]:
        writes = counted_in(stores, self.repository, self.branch, damaged=lambda error: None)
        found = dict[Layer, int]()
        for layer in self.layers:
            if isinstance(layer, SegmentLayer):
                found[layer] = layer.count
            elif isinstance(layer, SealedToken):
                counted = writes.get(layer.id, 0)
                found[layer] = counted if counted >= _DOUBTED else about_rows(stores.kv, keys.staging(layer.token))
        return found

    def _masked(self, stores: Stores, wanted: int) -> list[KeySample]:
        """Return samples of the changes of removals and restorations, as far as the trees show them."""
        indexes, base = stores.indexes(self.repository), self.compacted or self.head
        found = list[KeySample]()
        for span in spans(self.layers):
            if span.source is LookupSource.NOTHING:
                rows = outline(indexes.trees, base.metarange_id, wanted, span.start, span.end)
                found += [KeySample(row.max_key, row.entries) for row in rows]
        return found + (_differing(indexes, base, self.head, wanted) if self._restores() else [])

    def _restores(self) -> bool:
        return any(span.source is LookupSource.HEAD for span in spans(self.layers))


@dataclass(frozen=True, slots=True)
class MergedChanges:
    """Changes of a merge against its destination."""

    repository: RepositoryRecord
    inputs: MergeInputs
    rules: MergeRules

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        decisions = three_way(stores.indexes(self.repository), self.inputs, self.rules, start=start, end=end)
        return (decision.changes for decision in decisions)

    def key_samples(self, stores: Stores, wanted: int) -> list[KeySample]:
        return _differing(stores.indexes(self.repository), self.inputs.base, self.inputs.source, wanted)

    def rows(self, stores: Stores) -> int:
        if self.inputs.changed is not None:
            return len(self.inputs.changed)
        return _total(self.key_samples(stores, _LOOK))


@dataclass(frozen=True, slots=True)
class ParentsOwn:
    """Entries of a commit's parent whose modification time or address differs in a tree, to be restored in the tree."""

    repository: RepositoryRecord
    parent: Index
    tree: Index

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        return parents_own(stores.indexes(self.repository), self.parent, self.tree, start, end)

    def key_samples(self, stores: Stores, wanted: int) -> list[KeySample]:
        return _differing(stores.indexes(self.repository), self.parent, self.tree, wanted)

    def rows(self, stores: Stores) -> int:
        return _total(self.key_samples(stores, _LOOK))


def _total(samples: Sequence[KeySample]) -> int:
    return sum(sample.rows for sample in samples)


def _differing(indexes: Indexes, left: Index, right: Index, wanted: int) -> list[KeySample]:
    """Return samples of the differences between the metaranges of two indexes. Runs are ignored, because they are
    small.
    """
    sides = unshared(indexes.trees, left.metarange_id, right.metarange_id, wanted)
    return [KeySample(row.max_key, row.entries) for side in sides for row in side]
