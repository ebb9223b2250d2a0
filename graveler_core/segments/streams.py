"""Sorted streams of records merged into one, the newest record of a key winning, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.segments.merge import live, newest_wins, overlay
from graveler_core.segments.sorted_keys import KEY, upper_bound

ROWS_AT_ONCE = 262_144
"""What is merged in one go at most: 60 MiB of records without content, which take several times that meanwhile."""


def merge(streams: Sequence[Iterator[pa.Table]], begins: Sequence[bytes] | None = None) -> Iterator[pa.Table]:
    """One sorted stream of what several sorted streams say, each key once.

    Args:
        streams: Newest first; each yields sorted tables in `RECORD_SCHEMA` with growing, distinct keys. One is asked
            for its next page only when what follows is asked for.
        begins: For each stream a key before which it says nothing; it is not asked for a page until that key's turn.

    Only keys up to the smallest last key of the pages at hand are decided, so that no stream can still come up with a
    smaller one; memory is one page of each stream that has begun and not ended, and what `ROWS_AT_ONCE` rows take.
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
    """The entries that show where sorted records lie over sorted entries: sorted tables in `ENTRY_SCHEMA`, none empty.

    Args:
        above: Sorted tables in `RECORD_SCHEMA` with growing, distinct keys.
        below: Likewise in `ENTRY_SCHEMA`.
        few: How many entries are likely to be enough: so many are decided at once, then twice as many, and so on.

    Memory is one page a stream, and each is asked for its next page only when what follows is asked for.
    """
    records, entries = _next(above), _next(below)
    while records is not None and entries is not None:
        # Doubled once a page, it soon is a number that no slice takes.
        some = entries if few is None else entries.slice(0, min(few, entries.num_rows))
        few = None if few is None else 2 * few
        bound = min(_last_key(records), _last_key(some))
        cuts = [upper_bound(page.column(KEY), bound) for page in (entries, records)]
        shown = overlay(entries.slice(0, cuts[0]), records.slice(0, cuts[1]))
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


def _next(stream: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in stream if page.num_rows), None)


def _last_key(page: pa.Table) -> bytes:
    last: bytes = page.column(KEY)[-1].as_py()
    return last
