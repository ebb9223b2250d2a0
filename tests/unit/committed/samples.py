"""Trees in memory with ranges of a few entries, so that little content makes many ranges and levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from graveler_core.committed.apply import apply
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import Trees
from graveler_core.errors import NotFound
from graveler_core.model.ids import MetarangeId
from graveler_core.segments import format as segment_format
from graveler_core.segments.boundary import Cutting
from tests.unit.segments.samples import Changes, State, records, state_of

TINY = Cutting(mean_entries=4, max_bytes=1_500, fan_out=2)
LARGE = 1_000
"""Number of entries from which a tree is kept for other tests."""


class CountingBlobs:
    """Objects in a dict, and how often which was read and written. Only what trees use of the port."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.reads: list[str] = []
        self.creates: list[str] = []

    def create(self, address: str, data: bytes | memoryview) -> bool:
        self.creates.append(address)
        if address in self.objects:
            return False
        self.objects[address] = bytes(data)
        return True

    def read(self, address: str) -> bytes:
        self.reads.append(address)
        if address not in self.objects:
            raise NotFound(f"{address}: there is no such object")
        return self.objects[address]


def tiny_trees(seed: int = 7, cutting: Cutting = TINY, blobs: CountingBlobs | None = None) -> Trees:
    """Trees that keep nothing between calls but in the store."""
    return Trees(blobs or CountingBlobs(), seed, cutting, TreeCache(1 << 20), verify=True)  # type: ignore[arg-type]


def uncached(trees: Trees) -> Trees:
    """The same trees with nothing read yet, and the counts of the store at zero."""
    blobs = counted(trees)
    blobs.reads.clear()
    blobs.creates.clear()
    return Trees(trees.blobs, trees.boundary_seed, trees.cutting, TreeCache(), trees.verify)


@dataclass(frozen=True)
class Decoded:
    """The columns of one range that were decoded; None for all."""

    columns: tuple[str, ...] | None


@contextmanager
def decodings() -> Iterator[list[Decoded]]:
    """What is decoded of segments meanwhile, in order."""
    real, seen = segment_format.decode, list[Decoded]()

    def decode(data: Any, schema: pa.Schema, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        seen.append(Decoded(None if columns is None else tuple(columns)))
        return real(data, schema, name, columns)

    with patch.object(segment_format, "decode", decode):
        yield seen


def counted(trees: Trees) -> CountingBlobs:
    """The store of the trees."""
    assert isinstance(trees.blobs, CountingBlobs)
    return trees.blobs


def tree(trees: Trees, state: State) -> MetarangeId:
    """Build a tree from nothing. Large trees are built once, and their objects are copied."""
    if len(state) < LARGE:
        return apply(trees, None, records(state)).metarange_id
    root, objects = _built(trees.boundary_seed, trees.cutting, tuple(sorted(state.items())))
    for address, data in objects.items():
        trees.blobs.create(address, data)
    return root


@cache
def _built(seed: int, cutting: Cutting, state: tuple[tuple[bytes, int], ...]) -> tuple[MetarangeId, dict[str, bytes]]:
    blobs = CountingBlobs()
    root = apply(tiny_trees(seed, cutting, blobs), None, records(dict(state))).metarange_id
    return root, blobs.objects


def changed(trees: Trees, base: MetarangeId, changes: Changes) -> MetarangeId:
    """A tree made from another."""
    return apply(trees, base, records(changes)).metarange_id


def content(trees: Trees, root: MetarangeId) -> dict[bytes, int]:
    """What a tree holds, in the order of the scan."""
    return state_of(*scan(trees, root))


def batches(table: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    """A table as a stream."""
    yield from table.to_batches(max_chunksize=rows)
