"""View of a branch: its layers over its compacted tree or its head, as lookups and sorted streams.

These functions only read what one branch record lists. They do not check that the record is still current;
`engine.reading.branch` does, page by page. Source: seed 004, `Branch Read Flow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.committed.diff import EXACT, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup as lookup_committed
from graveler_core.committed.index.scan import scan as scan_committed
from graveler_core.engine.reading.tables import tombstones
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.segments.streams import merge, overlaid
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource, spans
from graveler_core.staging.segment_layer import Cache
from graveler_core.staging.stack import Stack, Staged, layers_of
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class BranchView:
    """Layers of one branch record, and the committed content below them."""

    stack: Stack
    indexes: Indexes
    head: Index
    compacted: Index | None

    @property
    def base(self) -> Index:
        """Index below the layers."""
        return self.head if self.compacted is None else self.compacted

    def index(self, source: LookupSource) -> Index | None:
        """Return the index of a lookup source."""
        return {LookupSource.BASE: self.base, LookupSource.HEAD: self.head, LookupSource.NOTHING: None}[source]


def commit_of(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> StoredCommit:
    """Return a commit by id."""
    return read_commit(stores.kv, stores.commits, repo, commit)


def view_of(stores: Stores, registers: Registers) -> BranchView:
    """Return the view of one branch record."""
    return _view(stores, registers, layers_of(registers.branch), stores.ranges)


def view_under(stores: Stores, registers: Registers, layers: tuple[Layer, ...]) -> BranchView:
    """Return a view of some layers of a branch record over its compacted tree or its head, for one complete read."""
    return _view(stores, registers, layers, None)


def _view(stores: Stores, registers: Registers, layers: tuple[Layer, ...], cache: Cache | None) -> BranchView:
    branch = registers.branch
    indexes = stores.indexes(registers.repository)
    head = commit_of(stores, registers.repository, branch.commit_id).layout.index
    compacted = None if branch.compacted_metarange is None else Index(metarange_id=branch.compacted_metarange)
    return BranchView(Stack(stores.kv, indexes.trees.blobs, layers, cache), indexes, head, compacted)


def lookup(view: BranchView, path: str) -> Entry | None:
    """Return the entry of a path, or `None`."""
    found = staged.lookup(view.stack, path)
    if isinstance(found, Staged):
        return found.entry
    index = view.index(found)
    return None if index is None else lookup_committed(view.indexes, index, path.encode())


def scan(
    view: BranchView, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
) -> Iterator[pa.Table]:
    """Yield the visible entries from `start` up to, but not including, `end` as sorted tables in `ENTRY_SCHEMA`,
    lazily.

    Args:
        view: View of the branch.
        start: First key.
        end: Key after the last one; `None` for no end.
        few: Number of entries that is probably enough.
    """
    return overlaid(staged.scan(view.stack, start=start, end=end, few=few), below(view, start, end, few), few)


def changes(view: BranchView, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
    """Yield the changes of the layers against the base, from `start` up to, but not including, `end`, as sorted tables
    in `RECORD_SCHEMA`.

    A removal becomes a tombstone for every key of the base under its prefix that has no newer record. A restoration
    above a compacted tree becomes the changes that lead from the compacted tree back to the head. Each layer is
    scanned once, regardless of the number of removals and restorations.
    """
    return merge([staged.scan(view.stack, start=start, end=end), _masked(view, start, end)])


def below(view: BranchView, start: bytes, end: bytes | None, few: int | None) -> Iterator[pa.Table]:
    """Yield the entries of a key interval that are visible below the records of the layers, as `scan` does."""
    for span in spans(view.stack.layers, start, end):
        index = view.index(span.source)
        if index is not None:
            yield from scan_committed(view.indexes, index, start=span.start, end=span.end, few=few)


def is_covered(view: BranchView, start: bytes, end: bytes | None) -> bool:
    """Return true if a removal or restoration of the layers covers a key of an interval."""
    return any(span.source is not LookupSource.BASE for span in spans(view.stack.layers, start, end))


def _masked(view: BranchView, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    """Yield the changes of removals and restorations against the base, at keys without a newer record."""
    for span in spans(view.stack.layers, start, end):
        if span.source is LookupSource.NOTHING:
            yield from map(tombstones, scan_committed(view.indexes, view.base, start=span.start, end=span.end))
        elif span.source is LookupSource.HEAD and view.base != view.head:
            back = diff(view.indexes, view.base, view.head, start=span.start, end=span.end, wanted=EXACT)
            yield from map(as_changes, back)
