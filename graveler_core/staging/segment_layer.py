"""Segment layers: large bulk writes as sorted immutable files that become visible at once.

The segments are stored below the id of the layer, never at a content address, and a manifest lists them. Each writer
chooses its own names, so attempts never collide. Files that the manifest does not list are deleted with the layer.

    _graveler/staging/<layer id>/<segment>     records in RECORD_SCHEMA; the writer chooses the name
    _graveler/staging/<layer id>/manifest      Manifest

One machine writes a layer with `write`. On several machines, each writes segments of its own keys, and one writes the
manifest. The format and the sizes of segments are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from graveler_core.blobs.deletion import delete_all
from graveler_core.blobs.port import Blobs
from graveler_core.codec.columns import SLICE_ROWS, slices
from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.counting import counted
from graveler_core.model.entities import Record
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import LayerId
from graveler_core.segments.format import decode as decode_segment
from graveler_core.segments.format import encode as encode_segment
from graveler_core.segments.sorted_keys import KEY, between

PIECE_ROWS = 131_072
PIECE_BYTES = 64 << 20
"""Maximum size of a segment in memory, in bytes. A segment is read as a whole. A record without content has about 200
bytes.
"""
_LINE_BYTES = 400
"""Memory used by a decoded row of a manifest in addition to its keys, in bytes."""
Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or the `map` of an executor."""


class Cache(Protocol):
    """Cache of layer files by address. These files never change, and addresses are never reused."""

    def get(self, id: Hashable) -> Any | None: ...

    def put(self, id: Hashable, value: Any, size: int) -> None: ...


class Piece(Record):
    """Sorted segment of a layer. Segments do not overlap."""

    name: str
    min_key: bytes
    max_key: bytes
    count: int


class Manifest(Record):
    """Segments of a layer, in key order."""

    pieces: tuple[Piece, ...]


def write(blobs: Blobs, layer: LayerId, records: pa.Table, mapper: Mapper = map) -> None:
    """Write a sorted table in `RECORD_SCHEMA` as a layer that no record lists yet.

    Args:
        blobs: Object store.
        layer: Id of the layer.
        records: The table.
        mapper: `map`, or the `map` of an executor of threads, which writes segments concurrently.
    """

    def written(numbered: tuple[int, pa.Table]) -> Piece:
        number, portion = numbered
        return write_piece(blobs, layer, f"{number:06d}.parquet", portion)

    write_manifest(blobs, layer, mapper(written, enumerate(portions([records]))))


def portions(tables: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
    """Divide rows into tables of the size of one segment. Only one such table, and the tables it is taken from, are in
    memory.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in (batch for table in tables for batch in _small(table)):
        if held and (rows + batch.num_rows > PIECE_ROWS or size + batch.nbytes > PIECE_BYTES):
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield pa.Table.from_batches(held)


def write_piece(blobs: Blobs, layer: LayerId, name: str, records: pa.Table) -> Piece:
    """Write a sorted, non-empty table in `RECORD_SCHEMA` as a segment. No other writer may use the name."""
    blobs.create(address(layer, name), encode_segment(records))
    return Piece(name=name, min_key=records[KEY][0].as_py(), max_key=records[KEY][-1].as_py(), count=records.num_rows)


def write_manifest(blobs: Blobs, layer: LayerId, pieces: Iterable[Piece]) -> None:
    """Write the manifest of a layer after all its segments. From then on the layer can be read."""
    blobs.create(address(layer, "manifest"), encode(Manifest(pieces=tuple(pieces))))


def scan(
    blobs: Blobs, layer: LayerId, *, start: bytes = b"", end: bytes | None = None, cache: Cache | None = None
) -> tuple[bytes, Iterator[pa.Table]]:
    """Return a lower bound of the keys of a layer, and its records from `start` up to, but not including, `end`.

    The manifest is read at once, each segment when it is needed.
    """
    pieces = manifest(blobs, layer, cache).pieces
    wanted = [piece for piece in pieces if piece.max_key >= start and (end is None or piece.min_key < end)]
    tables = (between(read_piece(blobs, layer, piece, cache), start, end) for piece in wanted)
    return wanted[0].min_key if wanted else start, tables


def lookup(blobs: Blobs, layer: LayerId, key: bytes, cache: Cache | None = None) -> pa.Table | None:
    """Return the record of a key as a table with one row, or `None`."""
    for piece in manifest(blobs, layer, cache).pieces:
        if piece.min_key <= key <= piece.max_key:
            row = between(read_piece(blobs, layer, piece, cache), key, key + b"\0")
            return row if row.num_rows else None
    return None


def drop(blobs: Blobs, layer: LayerId) -> int:
    """Delete a layer that has left its branch record. Return the number of deleted files."""
    found = [blob.address for blob in blobs.list(prefix=address(layer, ""))]
    delete_all(blobs, found)
    return len(found)


def address(layer: LayerId, name: str) -> str:
    """Return the address of a file of a layer, relative to the storage namespace."""
    return f"_graveler/staging/{layer}/{name}"


def manifest(blobs: Blobs, layer: LayerId, cache: Cache | None = None) -> Manifest:
    """Read the manifest of a layer.

    Raises:
        CorruptData: The manifest is missing (`CorruptLayer`) or damaged.
    """
    where = address(layer, "manifest")
    held: Manifest | None = None if cache is None else cache.get(where)
    if held is not None:
        return held
    data = _read(blobs, layer, "manifest")
    found = decode(Manifest, data, f"manifest of layer {layer}")
    if cache is not None:
        cache.put(where, found, _LINE_BYTES * len(found.pieces) + 2 * len(data))
    return found


def read_piece(blobs: Blobs, layer: LayerId, piece: Piece, cache: Cache | None = None) -> pa.Table:
    """Read the records of a segment.

    Raises:
        CorruptData: The segment is missing (`CorruptLayer`) or damaged.
    """
    where = address(layer, piece.name)
    held = None if cache is None else cache.get(where)
    if held is not None:
        return held
    table = decode_segment(_read(blobs, layer, piece.name), RECORD_SCHEMA, where)
    if table.num_rows != piece.count:
        raise CorruptData(
            f"{where}: has {counted(table.num_rows, 'record')}, but the manifest says {piece.count}", name=where
        )
    if cache is not None:
        cache.put(where, table, table.nbytes)
    return table


def _small(table: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield batches that are much smaller than a segment."""
    mean = max(1, table.nbytes // max(1, table.num_rows))
    return slices(table, rows=max(1, min(SLICE_ROWS, PIECE_ROWS, PIECE_BYTES // mean)))


def _read(blobs: Blobs, layer: LayerId, name: str) -> bytes:
    where = address(layer, name)
    try:
        return blobs.read(where)
    except NotFound as e:
        # A layer that was just retired raises this error too, if the branch record was stale. The flow reads the record
        # again.
        raise CorruptData(f"layer {layer}: {where} is missing", kind=Kind.CorruptLayer, layer=layer) from e
