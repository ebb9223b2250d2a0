"""What a branch shows: its layers over its compacted tree or its head, as lookups and sorted streams.

Pure reading of what one branch record lists. Nothing here proves that the record still stands: `engine.read` does, page
by page. Source: seed 004, `Branch Read Flow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.committed.diff import CHANGES, Differences, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup as lookup_committed
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan as scan_committed
from graveler_core.engine.rows import compare, tombstones, unchanged
from graveler_core.model.entities import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.segments.merge import as_records, live, newest_wins
from graveler_core.segments.sorted_keys import KEY
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


def changes(view: View) -> Iterator[pa.Table]:
    """All that the layers change in the base: sorted tables in `RECORD_SCHEMA`, for `committed.index.successor`.

    A removal becomes a tombstone for every key of the base under its prefix that no newer record speaks of; a
    restoration above a compacted tree becomes what leads from the compacted tree back to the head.
    """
    found = _changes_in(view, b"", None)
    yield from found if view.base == view.head else (_as_in_head(view, page) for page in found)


def against_head(
    view: View, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
) -> Iterator[Differences]:
    """What is uncommitted: the differences of the visible state from the head, sorted, lazily.

    Args:
        few: How many are likely to be enough.
    """
    for page in _records_over_head(view, start, end, few):
        different = compare(view.indexes, view.head, page)
        if len(different):
            yield different


def _below(view: View, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        index = None if part is None else view.index(part.source)
        if part is not None and index is not None:
            yield from scan_committed(view.indexes, index, start=part.start, end=part.end)


def _changes_in(view: View, start: bytes, end: bytes | None, few: int | None = None) -> Iterator[pa.Table]:
    """Each layer is scanned once, whatever the removals and restorations cut the keys into."""
    return merge([staged.scan(view.stack, start=start, end=end, few=few), _masked(view, start, end)])


def _masked(view: View, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    """What removals and restorations change in the base, where no newer record says something."""
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        if part is not None and part.source is Source.NOTHING:
            yield from map(tombstones, scan_committed(view.indexes, view.base, start=part.start, end=part.end))
        elif part is not None and part.source is Source.HEAD and view.base != view.head:
            yield from _changes_between(view, view.base, view.head, part.start, part.end)


def _as_in_head(view: View, page: pa.Table) -> pa.Table:
    """The records, those equal to the head's entry by identity replaced by it.

    Over the head itself `apply` drops them. Over a compacted tree that holds something else they count, and would
    bring their own mtime: a commit that differs from its parent and changes nothing.
    """
    known = lookup_many(view.indexes, view.head, page.column(KEY).to_pylist())
    equal = as_records(unchanged(known, live(page)))
    return newest_wins([equal, page]) if equal.num_rows else page


def _records_over_head(view: View, start: bytes, end: bytes | None, few: int | None) -> Iterator[pa.Table]:
    streams = [_changes_in(view, start, end, few)]
    if view.base != view.head:
        streams.append(_changes_between(view, view.head, view.base, start, end))
    return merge(streams)


def _changes_between(view: View, left: Index, right: Index, start: bytes, end: bytes | None) -> Iterator[pa.Table]:
    return (as_changes(d) for d in diff(view.indexes, left, right, start=start, end=end, wanted=CHANGES))
