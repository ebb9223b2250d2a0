"""Sorted streams of records merged into one, the newest record of a key winning, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.segments.merge import newest_wins
from graveler_core.segments.sorted_keys import KEY, upper_bound


def merge(streams: Sequence[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """One sorted stream of what several sorted streams say, each key once.

    Args:
        streams: Newest first; each yields sorted tables in `RECORD_SCHEMA` with growing, distinct keys.

    Only keys up to the smallest last key of the pages at hand are decided, so that no stream can still come up with a
    smaller one; memory is one page a stream.
    """
    if len(streams) == 1:
        yield from streams[0]
        return
    pages = {age: page for age, stream in enumerate(streams) if (page := _next(stream)) is not None}
    while pages:
        bound = min(_last_key(page) for page in pages.values())
        decided = []
        for age, page in sorted(pages.items()):
            cut = upper_bound(page.column(KEY), bound)
            decided.append(page.slice(0, cut))
            rest = page.slice(cut) if cut < page.num_rows else _next(streams[age])
            pages[age] = rest
            if rest is None:
                del pages[age]
        yield newest_wins(decided)


def _next(stream: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in stream if page.num_rows), None)


def _last_key(page: pa.Table) -> bytes:
    last: bytes = page.column(KEY)[-1].as_py()
    return last
