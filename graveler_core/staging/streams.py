"""Sorted streams of records merged into one, the newest record of a key winning, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.segments.merge import newest_wins
from graveler_core.segments.search import first_after


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
    pages = [_next(stream) for stream in streams]
    while True:
        live = [i for i, page in enumerate(pages) if page is not None]
        if not live:
            return
        bound = min(_last_key(pages[i]) for i in live)
        parts = []
        for i in live:
            page = pages[i]
            cut = first_after(page, bound)
            parts.append(page.slice(0, cut))
            pages[i] = page.slice(cut) if cut < page.num_rows else _next(streams[i])
        parts = [part for part in parts if part.num_rows]
        yield parts[0] if len(parts) == 1 else newest_wins(parts)


def _next(stream: Iterator[pa.Table]) -> pa.Table | None:
    return next((page for page in stream if page.num_rows), None)


def _last_key(page: pa.Table) -> bytes:
    last: bytes = page["key"][-1].as_py()
    return last
