"""Concurrent listing of partitions. A store answers a request in tens of milliseconds, regardless of other requests.

Each partition is listed completely into a file on local disk. The files are read one after the other, each as soon
as it is complete, in key order, with one page of each partition in memory. A listing of one page is not divided.

A callback can receive the number of rows of each page as it is listed. A listing that turns out to be large can thus
be ended and started again on many machines (`partitions`).
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

from graveler_core.blobs.failures import on_local_disk
from graveler_core.blobs.foreign import PAGE
from graveler_core.blobs.port import LISTED, Foreign

LISTERS = 16
"""Number of partitions that are listed concurrently."""
PARTS = 128
"""Maximum number of partitions: several for each lister, because partitions differ in size."""

Finish: TypeAlias = Callable[[Foreign, pa.Table], pa.Table]
"""Function that processes each page where it is listed."""
Told: TypeAlias = Callable[[int], object]
"""Callback that receives numbers of rows as they are listed, on the listing thread. An error in it ends the listing."""


def unheard(rows: int) -> None:
    """Ignore the number of rows."""


def side_by_side(objects: Foreign, finish: Finish, told: Told = unheard) -> Iterator[pa.Table]:
    """Yield all processed pages of a listing, in the order of the store.

    Args:
        objects: Place to list.
        finish: Processes each page.
        told: Receives the number of rows that are listed in partitions.
    """
    pages = objects.pages()
    first = next(pages, None)
    if first is None:
        return
    cuts = objects.split_points(PARTS) if first.num_rows >= PAGE else []
    if cuts:
        yield from listed_concurrently(objects, ["", *cuts, None], _telling(told, finish))
        return
    yield finish(objects, first)
    yield from (finish(objects, page) for page in pages)


def listed_concurrently(
    objects: Foreign, bounds: Sequence[str | None], finish: Finish
) -> Generator[pa.Table, None, None]:
    """Yield the processed pages of the keys after the first bound, up to and including the last bound, in order.

    A last bound of `None` means the end of the listing. Each pair of neighbouring keys bounds a partition. Pages are on
    local disk until they are read. Closing the iterator ends the listing.

    Raises:
        Unavailable: A temporary file cannot be written or read, for example because the disk is full (`StoreFull`).
    """
    over = threading.Event()
    with (
        on_local_disk(),
        tempfile.TemporaryDirectory(prefix="graveler-import-") as directory,
        ThreadPoolExecutor(LISTERS) as pool,
    ):
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
    """List one partition into a file, unless the listing was ended."""
    after, through = part
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, LISTED) as writer:
        for page in objects.pages(after or "", through):
            if over.is_set():
                return
            writer.write_table(finish(objects, page))
