"""Packed keys of ranges. They tell exactly which keys a range has, and mostly if an identity differs, in a fraction of
the memory of decoded columns.

A small commit that overwrites entries asks only if they exist, and if their content is another. 256 MiB hold the packed
keys of ten to thirty million entries, so such a commit costs the same in small and in large repositories.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

import numpy as np
import pyarrow as pa

from graveler_core.codec.columns import fixed_rows, spans
from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import Trees, read_decisive
from graveler_core.model.entry import IDENTITY_BYTES

_BLOCK = 128
"""Number of keys that are compressed together. More keys need less memory, and take longer to search."""
_CODEC = pa.Codec("zstd", 1)
_BEGINNING = 4
"""Number of bytes that are kept of an identity."""
_VALUE_BYTES = 48
"""Memory of a bytes value in a list, without its bytes."""


class PackedKeys:
    """Sorted keys in compressed blocks, with the beginnings of the identities of their entries.

    Args:
        keys: Sorted, distinct keys.
        identities: The identity of each entry.
    """

    def __init__(self, keys: pa.Array, identities: pa.Array) -> None:
        starts, data = spans(keys)
        self._first: list[bytes] = keys.take(pa.array(np.arange(0, len(keys), _BLOCK))).to_pylist()
        self._blocks: list[tuple[bytes, int, range]] = []
        """Lengths and keys of a block in compressed form, their size in bytes, and the positions of the keys."""
        for first, end in pairwise([*range(0, len(keys), _BLOCK), len(keys)]):
            lengths = np.diff(starts[first : end + 1]).astype(np.uint32)
            block = lengths.tobytes() + data[starts[first] : starts[end]].tobytes()
            self._blocks.append((_CODEC.compress(block, asbytes=True), len(block), range(first, end)))
        digests = fixed_rows(identities).view(np.uint8).reshape(len(keys), IDENTITY_BYTES)
        self._beginnings = digests[:, :_BEGINNING].tobytes()

    @property
    def memory(self) -> int:
        """Estimated memory in bytes."""
        values = sum(map(len, self._first)) + sum(len(block) for block, _, _ in self._blocks)
        return values + len(self._beginnings) + 4 * _VALUE_BYTES * len(self._blocks)

    def beginning(self, key: bytes) -> bytes | None:
        """Return the beginning of the identity of the entry at a key, or `None` if there is no entry."""
        number = bisect_right(self._first, key) - 1
        if number < 0:
            return None
        compressed, size, rows = self._blocks[number]
        block: bytes = _CODEC.decompress(compressed, size, asbytes=True)
        lengths = np.frombuffer(block, np.uint32, len(rows))
        ends = (np.cumsum(lengths) + lengths.nbytes).tolist()
        starts = [lengths.nbytes, *ends]
        at = bisect_left(range(len(rows)), key, key=lambda row: block[starts[row] : ends[row]])
        if at == len(rows) or block[starts[at] : ends[at]] != key:
            return None
        first = rows[at] * _BEGINNING
        return self._beginnings[first : first + _BEGINNING]


def held_packed(trees: Trees, row: NodeRow) -> PackedKeys | None:
    """Return the packed keys of a range if they are cached. If ranges are verified, they are not used."""
    found: PackedKeys | None = None if trees.verify else trees.cache.get(_id(row))
    return found


def packed(trees: Trees, row: NodeRow) -> PackedKeys | None:
    """Read the keys of a range and cache them packed, from the second call for the range on; otherwise return `None`.

    Raises:
        CorruptData: The range is missing, damaged, or differs from its row.
    """
    if trees.verify or not trees.cache.asked_before(_id(row)):
        return None
    found = PackedKeys(*read_decisive(trees, row))
    trees.cache.put(_id(row), found, found.memory)
    return found


def _id(row: NodeRow) -> tuple[str, str]:
    return row.id, "packed"
