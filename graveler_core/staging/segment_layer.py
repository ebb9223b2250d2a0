"""A segment layer: a large bulk write as sorted immutable files, swapped in at once.

The pieces lie under the layer's id, never at a content address, and a manifest blob lists them. Whoever writes a piece
uses a name of its own, so attempts never meet; what the manifest does not list is garbage that goes with the layer.

    _graveler/staging/<layer id>/<piece>       segments in RECORD_SCHEMA; the name is the writer's to choose
    _graveler/staging/<layer id>/manifest      Manifest

One machine writes a layer by `write`. Many write pieces, each of its own keys, by `portions` and `write_piece`, and one
lists them by `write_manifest`: the format, and where pieces end, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.codec.columns import SLICE_ROWS, slices
from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.entities import Record
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import LayerId
from graveler_core.segments.format import decode as decode_segment
from graveler_core.segments.format import encode as encode_segment
from graveler_core.segments.sorted_keys import KEY, between

PIECE_ROWS = 131_072
PIECE_BYTES = 64 << 20
"""A piece ends before it would hold more, as Arrow has it; it is read whole. Records without content are some 200."""
_LINE_BYTES = 400
"""What a decoded line of a manifest takes in memory besides its keys."""
Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or an executor's `map`."""


class Cache(Protocol):
    """Keeps what was read of layers, by address: files of layers never change, and no address is used again."""

    def get(self, id: Hashable) -> Any | None: ...

    def put(self, id: Hashable, value: Any, size: int) -> None: ...


class Piece(Record):
    """One sorted segment of a layer; pieces do not overlap."""

    name: str
    min_key: bytes
    max_key: bytes
    count: int


class Manifest(Record):
    """All pieces of a layer, in key order."""

    pieces: tuple[Piece, ...]


def write(blobs: Blobs, layer: LayerId, records: pa.Table, mapper: Mapper = map) -> None:
    """Write a sorted table in `RECORD_SCHEMA` as a layer that no record lists yet.

    Args:
        mapper: `map`, or the `map` of an executor of threads: pieces are written side by side.
    """

    def written(numbered: tuple[int, pa.Table]) -> Piece:
        number, portion = numbered
        return write_piece(blobs, layer, f"{number:06d}.parquet", portion)

    write_manifest(blobs, layer, mapper(written, enumerate(portions([records]))))


def portions(tables: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows, table after table, in portions that make a piece each. Memory: a portion, and the tables it is part of."""
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
    """Write a sorted table in `RECORD_SCHEMA`, not empty, as a piece, under a name that no other writer uses."""
    blobs.create(address(layer, name), encode_segment(records))
    return Piece(name=name, min_key=records[KEY][0].as_py(), max_key=records[KEY][-1].as_py(), count=records.num_rows)


def write_manifest(blobs: Blobs, layer: LayerId, pieces: Iterable[Piece]) -> None:
    """List the pieces of a layer, which are all written and in key order. From now on it can be read."""
    blobs.create(address(layer, "manifest"), encode(Manifest(pieces=tuple(pieces))))


def scan(
    blobs: Blobs, layer: LayerId, *, start: bytes = b"", end: bytes | None = None, cache: Cache | None = None
) -> tuple[bytes, Iterator[pa.Table]]:
    """A key before which the layer holds nothing, and its records from `start` to before `end`, a piece at a time.

    Reads the manifest at once, and each piece when it is asked for.
    """
    pieces = manifest(blobs, layer, cache).pieces
    wanted = [piece for piece in pieces if piece.max_key >= start and (end is None or piece.min_key < end)]
    tables = (between(read_piece(blobs, layer, piece, cache), start, end) for piece in wanted)
    return wanted[0].min_key if wanted else start, tables


def lookup(blobs: Blobs, layer: LayerId, key: bytes, cache: Cache | None = None) -> pa.Table | None:
    """The layer's record of a key as a table of one row, or None."""
    for piece in manifest(blobs, layer, cache).pieces:
        if piece.min_key <= key <= piece.max_key:
            row = between(read_piece(blobs, layer, piece, cache), key, key + b"\0")
            return row if row.num_rows else None
    return None


def drop(blobs: Blobs, layer: LayerId) -> int:
    """Delete a layer that has left its branch's record; gives the number of blobs removed."""
    found = [blob.address for blob in blobs.list(prefix=address(layer, ""))]
    for where in found:
        blobs.delete(where)
    return len(found)


def address(layer: LayerId, name: str) -> str:
    """Where a file of a layer is kept below the storage namespace."""
    return f"_graveler/staging/{layer}/{name}"


def manifest(blobs: Blobs, layer: LayerId, cache: Cache | None = None) -> Manifest:
    """All pieces of a layer. Raises `CorruptData`: it is missing (`CorruptLayer`) or damaged."""
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
    """The records of a piece. Raises `CorruptData`: it is missing (`CorruptLayer`) or damaged."""
    where = address(layer, piece.name)
    held = None if cache is None else cache.get(where)
    if held is not None:
        return held
    table = decode_segment(_read(blobs, layer, piece.name), RECORD_SCHEMA, where)
    if table.num_rows != piece.count:
        raise CorruptData(f"{where}: has {table.num_rows} records, the manifest says {piece.count}", name=where)
    if cache is not None:
        cache.put(where, table, table.nbytes)
    return table


def _small(table: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Batches of rows that many make a portion of."""
    mean = max(1, table.nbytes // max(1, table.num_rows))
    return slices(table, rows=max(1, min(SLICE_ROWS, PIECE_ROWS, PIECE_BYTES // mean)))


def _read(blobs: Blobs, layer: LayerId, name: str) -> bytes:
    where = address(layer, name)
    try:
        return blobs.read(where)
    except NotFound as e:
        # Right after the layer was retired this is only a stale record: the flow reads the record again and decides.
        raise CorruptData(f"layer {layer}: {where} is missing", kind=Kind.CorruptLayer, layer=layer) from e
