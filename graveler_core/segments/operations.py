"""The operations digest of a commit: a hash of its sorted effective changes, stored in the commit header.

Rule 1 (`Commit.version` 1) is one hash over all rows, which one machine must compute from the first row to the last.
Rule 2 divides the rows into blocks: a block ends with each key whose hash, seeded by the repository, is less than a
threshold (one key of `BLOCK_MEAN`), and with the last row. Each block has the hash of rule 1; the digest is the hash
over these hashes, in order. It is a function of the changes and the seed only, and many machines can each compute a
partition of it.

    rule 2:  2 u8 · length of tag u8 · tag · digests of the blocks, 32 bytes each
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.codec.content_hash import HASH, ContentHash
from graveler_core.codec.small_hash import OPERATIONS_TAG, rows_digest
from graveler_core.model.entities import OPERATIONS_RULE
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.segments.boundary import HASH_VALUES, key_hash, key_hashes, under
from graveler_core.segments.format import decode, encode
from graveler_core.segments.sorted_keys import KEY

BLOCK_MEAN = 8_192
"""Mean number of changes in a block: enough that hashing them costs more than creating the hash, few enough to send to
others.
"""
_THRESHOLD = HASH_VALUES // BLOCK_MEAN
_MANY_CHUNKS = 64
_HEAD = bytes([2, len(OPERATIONS_TAG)]) + OPERATIONS_TAG


class OperationsDigest:
    """Digest of changes that are appended table by table, in key order. Uses constant memory.

    Args:
        seed: Boundary seed of the repository.
        rule: Rule of the commit header that the digest is for.
    """

    def __init__(self, seed: int, rule: int = OPERATIONS_RULE) -> None:
        self._seed = seed
        self._in_blocks = rule > 1
        self._closed = HASH(_HEAD)
        self._open: ContentHash | None = None

    def update(self, changes: pa.Table) -> None:
        """Append changes in `RECORD_SCHEMA`."""
        start = 0
        for end in block_ends(changes, self._seed) if self._in_blocks else ():
            self._append(changes.slice(start, end - start))
            self._close()
            start = end
        self._append(changes.slice(start))

    def join(self, partition: OperationsPartition) -> None:
        """Append the changes of a partition. Only for rule 2."""
        self._append(partition.head)
        if partition.bounded:
            self._close()
            self._closed.update(partition.digests)
            self._append(partition.tail)

    def hexdigest(self) -> str:
        """Return the digest as 64 hexadecimal digits. Nothing can be appended afterwards."""
        if not self._in_blocks:
            return (self._open or _block()).hexdigest()
        self._close()
        return self._closed.hexdigest()

    def _append(self, changes: pa.Table) -> None:
        if changes.num_rows:
            self._open = self._open or _block()
            self._open.update(changes)

    def _close(self) -> None:
        if self._open is not None:
            self._closed.update(self._open.digest())
            self._open = None


@dataclass(frozen=True, slots=True)
class OperationsPartition:
    """Consecutive changes, hashed as far as their blocks are known."""

    head: pa.Table
    """Changes up to the first one that ends a block, or all changes if none does, in `RECORD_SCHEMA`."""
    bounded: bool = False
    """True if a change ends a block."""
    digests: bytes = b""
    """Digests of the blocks between the first end and the last, 32 bytes each."""
    tail: pa.Table = field(default_factory=RECORD_SCHEMA.empty_table)
    """Changes after the last end."""

    def __add__(self, following: OperationsPartition) -> OperationsPartition:
        """Return the partition of these changes and those that follow."""
        if not self.bounded:
            return replace(following, head=_joined(self.head, following.head))
        between = _joined(self.tail, following.head)
        if not following.bounded:
            return replace(self, tail=between)
        digests = self.digests + _digest(between) + following.digests
        return replace(self, digests=digests, tail=following.tail)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the tables as segments, which are small and do not contain rows outside of slices."""
        return _unpickled, (bytes(encode(self.head)), self.bounded, self.digests, bytes(encode(self.tail)))


def partition_of(changes: pa.Table, seed: int, hashes: NDArray[np.uint64] | None = None) -> OperationsPartition:
    """Return changes as a partition.

    Args:
        changes: Sorted changes in `RECORD_SCHEMA`.
        seed: Boundary seed of the repository.
        hashes: `key_hashes` of the changes, if known.
    """
    ends = block_ends(changes, seed, hashes)
    if not ends:
        return OperationsPartition(changes)
    blocks = [_digest(changes.slice(start, end - start)) for start, end in pairwise(ends)]
    return OperationsPartition(changes.slice(0, ends[0]), True, b"".join(blocks), changes.slice(ends[-1]))


def digest_of_few(records: Sequence[tuple[bytes, bytes]], seed: int, rule: int = OPERATIONS_RULE) -> str:
    """Return the digest of few changes without Arrow, from the key and the staged record of each, sorted by key.

    Raises:
        CorruptData: A record is truncated or has an unknown version.
    """
    if rule == 1:
        return rows_digest(records).hex()
    closed, start = HASH(_HEAD), 0
    ends = [end for end, (key, _) in enumerate(records, 1) if key_hash(key, seed) < _THRESHOLD]
    for end in (*ends, len(records)):
        if end > start:
            closed.update(rows_digest(records[start:end]))
            start = end
    return closed.hexdigest()


def block_ends(changes: pa.Table, seed: int, hashes: NDArray[np.uint64] | None = None) -> list[int]:
    """Return the exclusive end positions of blocks. `hashes` are the `key_hashes` of the changes, if known."""
    if hashes is None:
        hashes = key_hashes(changes.column(KEY), seed)
    return [int(at) + 1 for at in np.flatnonzero(under(hashes, _THRESHOLD))]


def _block() -> ContentHash:
    return ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)


def _digest(changes: pa.Table) -> bytes:
    block = _block()
    block.update(changes)
    return block.digest()


def _joined(left: pa.Table, right: pa.Table) -> pa.Table:
    joined = pa.concat_tables([left, right])
    return joined.combine_chunks() if joined.column(KEY).num_chunks > _MANY_CHUNKS else joined


def _unpickled(head: bytes, bounded: bool, digests: bytes, tail: bytes) -> OperationsPartition:
    tables = (decode(data, RECORD_SCHEMA, "changes of a partition") for data in (head, tail))
    return OperationsPartition(next(tables), bounded, digests, next(tables))
