"""What is uncommitted on a branch: how the state that it shows differs from its head. Source: seed 004.

Above, what the layers say, compared with what the head holds at these keys. Below, where no layer says anything: how
the compacted tree differs from the head, which is kept from one call to the next; nothing, where a restoration shows
the head; all that the head holds, where a removal hides it.
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
from graveler_core.engine.view import View
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.segments.merge import live
from graveler_core.segments.sorted_keys import KEY, upper_bound
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source, spans, within


def against_head(
    view: View, kept: TreeCache, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
) -> Iterator[Differences]:
    """The differences of the visible state from the head, sorted, lazily, none empty.

    Args:
        kept: Where differences of compacted trees from heads are kept.
        few: How many are likely to be enough.
    """
    above = staged.scan(view.stack, start=start, end=end, few=few)
    for found in _over(view, above, _below(view, kept, start, end)):
        if len(found):
            yield found


def _below(view: View, kept: TreeCache, start: bytes, end: bytes | None) -> Iterator[Differences]:
    """Of what shows where no record of a layer does."""
    known = KeptDifferences(view.indexes, kept)
    for span in spans(view.stack.layers):
        part = within(span, start, end)
        if part is not None and part.source is Source.BASE:
            yield from known.between(view.head, view.base, start=part.start, end=part.end)
        elif part is not None and part.source is Source.NOTHING:
            for page in scan(view.indexes, view.head, start=part.start, end=part.end):
                yield differences(page, ENTRY_SCHEMA.empty_table())


def _over(view: View, above: Iterator[pa.Table], below: Iterator[Differences]) -> Iterator[Differences]:
    """Records over differences: at a key of theirs they alone count, also where they are what the head holds."""
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


def _joined(view: View, records: pa.Table, found: Differences) -> Differences:
    if not records.num_rows:
        return found
    if not len(found):
        return _compared(view, records)
    shown = found.filter(pc.invert(pc.is_in(found.keys, records.column(KEY).combine_chunks())))
    return joined([shown, _compared(view, records)])


def _compared(view: View, records: pa.Table) -> Differences:
    before = lookup_many(view.indexes, view.head, records.column(KEY).to_pylist())
    return differences(before, live(records))


def _next(pages: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in pages if page.num_rows), None)
