"""What a branch shows: its layers over its compacted tree or its head, as lookups and sorted streams.

Pure reading of what one branch record lists. Nothing here proves that the record still stands: `engine.read` does, page
by page. Source: seed 004, `Branch Read Flow`.
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
from graveler_core.engine.rows import tombstones
from graveler_core.model.entities import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.segments.streams import merge, overlaid
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source, spans, within
from graveler_core.staging.segment_layer import Cache
from graveler_core.staging.stack import Stack, Staged, layers_of
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class View:
    """The layers of one branch record, and what is committed below them."""

    stack: Stack
    indexes: Indexes
    head: Index
    compacted: Index | None

    @property
    def base(self) -> Index:
        """The index that the layers stand on."""
        return self.head if self.compacted is None else self.compacted

    def index(self, source: Source) -> Index | None:
        """The index that a source names."""
        return {Source.BASE: self.base, Source.HEAD: self.head, Source.NOTHING: None}[source]


def commit_of(stores: Stores, repo: Repository, commit: CommitId) -> StoredCommit:
    """A commit by id."""
    return read_commit(stores.kv, stores.commits, repo, commit)


def view_of(stores: Stores, registers: Registers) -> View:
    """What one branch record shows."""
    return _view(stores, registers, layers_of(registers.branch), stores.ranges)


def view_under(stores: Stores, registers: Registers, layers: tuple[Layer, ...]) -> View:
    """What some layers of a branch record show over its compacted tree or its head, to be read once and in whole."""
    return _view(stores, registers, layers, None)


def _view(stores: Stores, registers: Registers, layers: tuple[Layer, ...], cache: Cache | None) -> View:
    branch = registers.branch
    indexes = stores.indexes(registers.repository)
    head = commit_of(stores, registers.repository, branch.commit_id).layout.index
    compacted = None if branch.compacted_metarange is None else Index(metarange_id=branch.compacted_metarange)
    return View(Stack(stores.kv, indexes.trees.blobs, layers, cache), indexes, head, compacted)


def lookup(view: View, path: str) -> Entry | None:
    """What a path holds, or None."""
    found = staged.lookup(view.stack, path)
    if isinstance(found, Staged):
        return found.entry
    index = view.index(found)
    return None if index is None else lookup_committed(view.indexes, index, path.encode())


def scan(view: View, *, start: bytes = b"", end: bytes | None = None, few: int | None = None) -> Iterator[pa.Table]:
    """The visible entries from `start` to before `end`, as sorted tables in `ENTRY_SCHEMA`, lazily.

    Args:
        few: How many are likely to be enough.
    """
    return overlaid(staged.scan(view.stack, start=start, end=end, few=few), _below(view, start, end), few)


def changes(view: View, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
    """What the layers change in the base from `start` to before `end`: sorted tables in `RECORD_SCHEMA`.

    A removal becomes a tombstone for every key of the base under its prefix that no newer record speaks of; a
    restoration above a compacted tree becomes what leads from the compacted tree back to the head. Each layer is
    scanned once, whatever the removals and restorations cut the keys into.
    """
    return merge([staged.scan(view.stack, start=start, end=end), _masked(view, start, end)])


def _below(view: View, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        index = None if part is None else view.index(part.source)
        if part is not None and index is not None:
            yield from scan_committed(view.indexes, index, start=part.start, end=part.end)


def _masked(view: View, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    """What removals and restorations change in the base, where no newer record says something."""
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        if part is None:
            continue
        if part.source is Source.NOTHING:
            yield from map(tombstones, scan_committed(view.indexes, view.base, start=part.start, end=part.end))
        elif part.source is Source.HEAD and view.base != view.head:
            back = diff(view.indexes, view.base, view.head, start=part.start, end=part.end, wanted=EXACT)
            yield from map(as_changes, back)
