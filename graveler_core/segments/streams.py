"""Merges of sorted streams of records in bounded memory. The newest record of a key wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.segments.merge import live, newest_wins, overlay, overlay_few
from graveler_core.segments.sorted_keys import KEY, SearchableTable, between, upper_bound

ROWS_AT_ONCE = 262_144
"""Maximum number of rows that are merged at once: 60 MiB of records without content, and several times that
temporarily.
"""
_FEW_RECORDS = 1_000
"""Maximum number of records that are laid over entries as values. For more records, columns are faster."""


def merge(streams: Sequence[Iterator[pa.Table]], begins: Sequence[bytes] | None = None) -> Iterator[pa.Table]:
    """Merge several sorted streams into one, with each key once.

    Only keys up to the smallest last key of the current pages are decided, because no stream can yield a smaller one
    later. Memory: one page of each stream that has begun and not ended, and `ROWS_AT_ONCE` rows.

    Args:
        streams: Streams, newest first. Each yields sorted tables in `RECORD_SCHEMA` with ascending, distinct keys.
        The next page of a stream is requested only when it is needed.
        begins: For each stream a key before which it has no records. Its first page is requested only when that key
        is reached.

    Yields:
        Sorted tables in `RECORD_SCHEMA`.
    """
    if len(streams) == 1:
        yield from streams[0]
        return
    first = begins or [b""] * len(streams)
    waiting = sorted(range(len(streams)), key=lambda age: first[age], reverse=True)
    pages: dict[int, pa.Table] = {}
    while pages or waiting:
        while waiting and (not pages or first[waiting[-1]] <= min(map(_last_key, pages.values()))):
            age = waiting.pop()
            if (page := _next(streams[age])) is not None:
                pages[age] = page
        if not pages:
            return
        some = max(1, ROWS_AT_ONCE // len(pages))
        bound = min(_last_key(page.slice(0, some)) for page in pages.values())
        ages = sorted(pages)
        cuts = {age: upper_bound(pages[age].column(KEY), bound) for age in ages}
        yield newest_wins([pages[age].slice(0, cuts[age]) for age in ages])
        rests = {age: pages[age].slice(cuts[age]) for age in ages}
        following = {age: rest if rest.num_rows else _next(streams[age]) for age, rest in rests.items()}
        pages = {age: page for age, page in following.items() if page is not None}


def overlaid(above: Iterator[pa.Table], below: Iterator[pa.Table], few: int | None = None) -> Iterator[pa.Table]:
    """Yield the entries that are visible when sorted records lie over sorted entries.

    Memory: one page of each stream. The next page is requested only when it is needed.

    Args:
        above: Sorted tables in `RECORD_SCHEMA` with ascending, distinct keys.
        below: Sorted tables in `ENTRY_SCHEMA` with ascending, distinct keys.
        few: Number of entries that are probably sufficient: this number is decided first, then twice as many, and so
        on.

    Yields:
        Sorted, non-empty tables in `ENTRY_SCHEMA`.
    """
    records, entries = _next(above), _next(below)
    while records is not None and entries is not None:
        # The number is doubled for each page, so it soon exceeds the length of any slice.
        some = entries if few is None else entries.slice(0, min(few, entries.num_rows))
        few = None if few is None else 2 * few
        bound = min(_last_key(records), _last_key(some))
        cuts = [upper_bound(page.column(KEY), bound) for page in (entries, records)]
        shown = _overlaid(entries.slice(0, cuts[0]), [records.slice(0, cuts[1])])
        if shown.num_rows:
            yield shown
        entries = entries.slice(cuts[0]) if cuts[0] < entries.num_rows else _next(below)
        records = records.slice(cuts[1]) if cuts[1] < records.num_rows else _next(above)
    while records is not None:
        if (shown := live(records)).num_rows:
            yield shown
        records = _next(above)
    while entries is not None:
        yield entries
        entries = _next(below)


def overlaid_by_tables(
    above: Sequence[SearchableTable],
    below: Iterator[pa.Table],
    span: tuple[bytes, bytes | None],
    few: int | None = None,
) -> Iterator[pa.Table]:
    """Yield the entries that are visible when tables of records, newest first, lie over sorted entries.

    Of each table, only the rows between the entries of one step are merged, so a page costs as much as its rows.

    Args:
        above: Sorted tables in `RECORD_SCHEMA` with ascending, distinct keys.
        below: Sorted, non-empty tables in `ENTRY_SCHEMA` with ascending, distinct keys in the interval.
        span: First key of the interval, and the key after its last one; `None` for no end.
        few: As for `overlaid`.

    Yields:
        Sorted, non-empty tables in `ENTRY_SCHEMA`.
    """
    start, end = span
    at = [records.keys.lower_bound(start) for records in above]
    for entries in _growing(below, few):
        bound = _last_key(entries) + b"\0"
        cuts = [records.keys.lower_bound(bound, low) for records, low in zip(above, at, strict=True)]
        pieces = [
            records.table.slice(low, cut - low) for records, low, cut in zip(above, at, cuts, strict=True) if low < cut
        ]
        shown = _overlaid(entries, pieces)
        if shown.num_rows:
            yield shown
        at = cuts
    rests = [between(records.table.slice(low), b"", end) for records, low in zip(above, at, strict=True)]
    yield from overlaid(merge([iter([rest]) for rest in rests if rest.num_rows]), iter(()))


def _overlaid(entries: pa.Table, layers: Sequence[pa.Table]) -> pa.Table:
    """Return the entries that are visible when sorted records, newest first, lie over entries."""
    records = sum(layer.num_rows for layer in layers)
    if records == 0:
        return entries
    return overlay_few(entries, layers) if records <= _FEW_RECORDS else overlay(entries, newest_wins(layers))


def _growing(tables: Iterator[pa.Table], few: int | None) -> Iterator[pa.Table]:
    """Yield `few` rows, then twice as many, and so on, but at most one table; whole tables if `few` is `None`."""
    for table in tables:
        at = 0
        while at < table.num_rows:
            rows = table.num_rows if few is None else min(few, table.num_rows)
            yield table.slice(at, rows)
            at, few = at + rows, None if few is None else 2 * few


def _next(stream: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in stream if page.num_rows), None)


def _last_key(page: pa.Table) -> bytes:
    last: bytes = page.column(KEY)[-1].as_py()
    return last
