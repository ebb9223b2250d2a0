"""Uncommitted changes of a branch: differences between its visible state and its head. Source: seed 004.

The differences come from two sources. At keys with a record in a layer, the record is compared with the head. At all
other keys, the source is the difference between the compacted tree and the head, which is cached between calls. Under
a restoration, which shows the head, this source has no differences. Under a removal, it has the removal of every
entry of the head.

Merge, revert, cherry-pick and hard reset refuse a branch that is not clean (`require_clean`). A branch is dirty if a
layer contains a record or covers a prefix, or if its compacted tree differs from its head. The effect of the records
does not matter: a tombstone of an absent path has no effect now, but it would revert what a merge adds at that path.
An empty staging token does not make a branch dirty.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import Differences, differences, joined
from graveler_core.committed.index.kept_differences import KeptDifferences
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.engine.reading.view import BranchView, view_of
from graveler_core.errors import DirtyBranch
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.segments.merge import live
from graveler_core.segments.sorted_keys import KEY, upper_bound
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource, spans
from graveler_core.staging.stack import is_dirty
from graveler_core.stores import Registers, Stores


def against_head(
    view: BranchView, kept: TreeCache, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
) -> Iterator[Differences]:
    """Yield the differences of the visible state from the head, sorted, lazily and without empty tables.

    Args:
        view: View of the branch.
        kept: Cache of the differences between compacted trees and heads.
        start: First key.
        end: Key after the last one; `None` for no end.
        few: Number of differences that is probably enough.
    """
    above = staged.scan(view.stack, start=start, end=end, few=few)
    for found in _over(view, above, _below(view, kept, start, end)):
        if len(found):
            yield found


def _below(view: BranchView, kept: TreeCache, start: bytes, end: bytes | None) -> Iterator[Differences]:
    """Yield the differences at keys without a record in a layer."""
    known = KeptDifferences(view.indexes, kept)
    for span in spans(view.stack.layers, start, end):
        if span.source is LookupSource.BASE:
            yield from known.between(view.head, view.base, start=span.start, end=span.end)
        elif span.source is LookupSource.NOTHING:
            for page in scan(view.indexes, view.head, start=span.start, end=span.end):
                yield differences(page, ENTRY_SCHEMA.empty_table())


def _over(view: BranchView, above: Iterator[pa.Table], below: Iterator[Differences]) -> Iterator[Differences]:
    """Combine records with differences. At a key with a record, only the record counts, even if it equals the head."""
    records, found = _next(above), next(below, None)
    while records is not None and found is not None:
        bound = min(records.column(KEY)[-1].as_py(), found.keys[-1].as_py())
        said, hidden = (upper_bound(keys, bound) for keys in (records.column(KEY), found.keys))
        yield _joined(view, records.slice(0, said), found.slice(0, hidden))
        records = records.slice(said) if said < records.num_rows else _next(above)
        found = found.slice(hidden, len(found) - hidden) if hidden < len(found) else next(below, None)
    while records is not None:
        yield _compared(view, records)
        records = _next(above)
    while found is not None:
        yield found
        found = next(below, None)


def _joined(view: BranchView, records: pa.Table, found: Differences) -> Differences:
    if not records.num_rows:
        return found
    if not len(found):
        return _compared(view, records)
    shown = found.filter(pc.invert(pc.is_in(found.keys, records.column(KEY).combine_chunks())))
    return joined([shown, _compared(view, records)])


def _compared(view: BranchView, records: pa.Table) -> Differences:
    before = lookup_many(view.indexes, view.head, records.column(KEY).to_pylist())
    return differences(before, live(records))


def _next(pages: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in pages if page.num_rows), None)


def require_clean(stores: Stores, registers: Registers, what: str) -> None:
    """Raise `DirtyBranch` if anything is staged on the branch.

    A write that is acknowledged after this check is ordered after the operation, and stays staged on top of it.
    """
    view = view_of(stores, registers)
    clean = not is_dirty(view.stack) and (
        view.base == view.head or next(against_head(view, stores.uncommitted), None) is None
    )
    if not clean:
        branch = registers.branch.id
        raise DirtyBranch(
            f"branch {branch!r} has uncommitted changes; commit or reset them before {what}", branch=branch
        )
