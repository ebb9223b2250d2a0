"""Numbers and sizes of entries by directory, summed page by page from columns.

The work in Python is one step for each directory, not for each entry: entries are sorted, so the entries of a page that
lie directly in one directory form few runs, and arrays find and sum the runs. Memory holds one page, and the
directories on the way to the current one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.committed.node import MAX_SIZE
from graveler_core.model.names import MAX_PATH_BYTES
from graveler_core.model.usage import Usage
from graveler_core.segments.sorted_keys import KEY

_SLASH = b"/"
Run = tuple[bytes, int, int]
"""Consecutive entries of one directory: its path, their number and their size."""


def by_directory(pages: Iterable[pa.Table], prefix: bytes, depth: int) -> Iterator[Usage]:
    """Yield the directories below a prefix, each after those that it contains, and then the prefix itself.

    Args:
        pages: Sorted entries, all of whose keys begin with the prefix.
        prefix: Beginning of the keys.
        depth: Maximum number of directories below the prefix on the way to a directory, including itself. Deeper ones
            are only part of the directories that contain them.
    """
    path = [_Sum(prefix)]
    for directory, entries, size in _runs(pages, len(prefix), min(depth, MAX_PATH_BYTES)):
        while not directory.startswith(path[-1].path):
            yield _closed(path)
        while directory != path[-1].path:
            end = directory.index(_SLASH, len(path[-1].path)) + 1
            path.append(_Sum(directory[:end]))
        path[-1].add(entries, size)
    while len(path) > 1:
        yield _closed(path)
    yield path[0].usage()


@dataclass(slots=True)
class _Sum:
    """A directory whose entries are being summed."""

    path: bytes
    entries: int = 0
    size: int = 0

    def add(self, entries: int, size: int) -> None:
        self.entries += entries
        self.size += size

    def usage(self) -> Usage:
        return Usage(self.path.decode(), self.entries, self.size)


def _closed(path: list[_Sum]) -> Usage:
    """Remove the last directory of a path, and add it to the one that contains it."""
    done = path.pop()
    path[-1].add(done.entries, done.size)
    return done.usage()


def _runs(pages: Iterable[pa.Table], skip: int, depth: int) -> Iterator[Run]:
    """Yield the runs of entries with the same directory. A directory may have several."""
    for page in pages:
        for batch in page.select([KEY, "size"]).to_batches():
            directories = _directories(batch.column(KEY), skip, depth)
            changed = pc.not_equal(directories[1:], directories[:-1]).to_numpy(zero_copy_only=False)
            starts = np.append(0, np.flatnonzero(changed) + 1)
            counts = np.diff(np.append(starts, len(directories)))
            sizes = np.add.reduceat(_exact(batch.column("size").to_numpy()), starts)
            yield from zip(directories.take(pa.array(starts)).to_pylist(), counts.tolist(), sizes.tolist(), strict=True)


def _exact(sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Return sizes as numbers of Python if their sum may exceed 64 bits."""
    return sizes.astype(object) if sizes.max() > MAX_SIZE // len(sizes) else sizes


def _directories(keys: pa.BinaryArray, skip: int, depth: int) -> pa.BinaryArray:
    """Return the directory of each key: the key up to its last slash, or to the slash number `depth` behind the first
    `skip` bytes. Without such a slash, the first `skip` bytes.
    """
    _, offset_buffer, data_buffer = keys.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    starts, stops = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    lengths = (_ends(data, starts, stops, skip, depth) - starts).astype(np.int32)
    kept = data[np.arange(len(data), dtype=np.int32) < np.repeat(starts + lengths, stops - starts)]
    made = np.append(0, np.cumsum(lengths)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(keys), [None, pa.py_buffer(made), pa.py_buffer(kept)])


def _ends(
    data: NDArray[np.uint8], starts: NDArray[np.int32], stops: NDArray[np.int32], skip: int, depth: int
) -> NDArray[np.int64]:
    """Return the position in `data` behind the directory of each key."""
    slashes = np.flatnonzero(data == ord(_SLASH))
    first = np.searchsorted(slashes, starts + skip)
    last = np.minimum(np.searchsorted(slashes, stops), first + depth)
    behind = np.append(slashes, 0)[last - 1] + 1
    return np.where(last > first, behind, starts + skip)
