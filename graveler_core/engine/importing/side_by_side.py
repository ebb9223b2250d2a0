"""A listing in parts, side by side: a store answers a request in tens of milliseconds, whoever else asks.

Each part is listed to its end into a file on local disk, and the files are read one after the other, as each is
complete: in order of the keys, with a page of each part in memory. A listing of one page is not worth it.

What lists may be told of each page as it is listed, so that a listing which turns out to be large can be ended and
begun again on many machines (`shares`).
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from graveler_core.blobs.foreign import PAGE
from graveler_core.blobs.port import LISTED, Foreign

LISTERS = 16
"""Parts that are listed at once."""
PARTS = 128
"""Parts at most: several for each lister, for some are large."""

Finish: TypeAlias = Callable[[Foreign, pa.Table], pa.Table]
"""What is done with each page, where it is listed."""
Told: TypeAlias = Callable[[int], object]
"""Hears of rows as they are listed, on the thread that lists them. What it raises ends the listing."""


def unheard(rows: int) -> None:
    """Nobody wants to know."""


def side_by_side(objects: Foreign, finish: Finish, told: Told = unheard) -> Iterator[pa.Table]:
    """All pages of a listing, in the order in which the store would give them, each finished.

    Args:
        objects: What is listed.
        finish: Is done with each page.
        told: Is told of what is listed in parts.
    """
    pages = objects.pages()
    first = next(pages, None)
    if first is None:
        return
    cuts = objects.cuts(PARTS) if first.num_rows >= PAGE else []
    if cuts:
        yield from in_parts(objects, ["", *cuts, None], _telling(told, finish))
        return
    yield finish(objects, first)
    yield from (finish(objects, page) for page in pages)


def in_parts(objects: Foreign, bounds: Sequence[str | None], finish: Finish) -> Generator[pa.Table, None, None]:
    """The pages behind the first of some keys and up to the last (None: to the end), in order, each finished.

    Between two neighbours is a part. The pages are on local disk until they are read; closing the iterator ends it.
    """
    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="graveler-import-") as directory, ThreadPoolExecutor(LISTERS) as pool:
        parts = list(pairwise(bounds))
        files = [Path(directory, str(number)) for number in range(len(parts))]
        begun = [
            pool.submit(partial(_list, objects, part, file, finish, over))
            for part, file in zip(parts, files, strict=True)
        ]
        try:
            for file, listed in zip(files, begun, strict=True):
                listed.result()
                with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as reader:
                    yield from (pa.Table.from_batches([batch]) for batch in reader)
                file.unlink()
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


def _telling(told: Told, finish: Finish) -> Finish:
    def finished(objects: Foreign, page: pa.Table) -> pa.Table:
        told(page.num_rows)
        return finish(objects, page)

    return finished


def _list(
    objects: Foreign, part: tuple[str | None, str | None], file: Path, finish: Finish, over: threading.Event
) -> None:
    """List one part into a file, unless nobody wants it any more."""
    after, through = part
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, LISTED) as writer:
        for page in objects.pages(after or "", through):
            if over.is_set():
                return
            writer.write_table(finish(objects, page))
