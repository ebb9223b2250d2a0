"""A segment layer that many machines write: each the pieces of its keys, the driver the list of them.

A worker checks its rows as `stage_many` does, and writes pieces under names of its attempt. It asks no register and
moves none, and what it hands back is a line a piece. The driver takes one answer for each part, lists their pieces in
the manifest, and `engine.bulk` swaps the layer in: before that nothing of it can be seen.

Who can be late, and why it does no harm:

* *A task that runs again* (a worker died, a speculative attempt) has an id of its own, so it neither meets nor
  overwrites what an earlier attempt wrote. The manifest lists the pieces of the answer that was taken, whole: they were
  all written before that answer. Those of other attempts are under the layer's id and in no list: they go with it.
* *An attempt that ends after the swap* writes pieces into a layer that is in use: in no list, nobody reads them.
* *A driver that dies* before the swap leaves a layer that its cleanup record names: it was created before the first
  worker began. One that dies after it leaves nothing to be done.
* *A cleaner* takes the layer only if its record was not renewed for as long as a bulk write may take; then it claims
  the record and moves the branch on, so no swap that missed the claim succeeds (`engine.bulk`, `engine.cleaning.live`).
* *A worker that writes after the cleaner dropped the layer*, whether it had been committed or never entered, leaves
  pieces under an id that no record names any more, and none will. `gc.sweep` takes them once they are old.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry import normalise
from graveler_core.codec.entry_columns import there_twice
from graveler_core.codec.row_name import row_path
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Repository
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import LayerId
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging.segment_layer import Piece, portions, write_manifest, write_piece
from graveler_core.stores import SortedRows, Stores


@dataclass(frozen=True, slots=True)
class Written:
    """What a layer holds that workers have written."""

    records: int
    """Rows, removals among them."""
    removals: int
    files: int


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker hands back of its rows: where they are, in order."""

    pieces: tuple[Piece, ...]
    removals: int


def write_parts(stores: Stores, repo: Repository, layer: LayerId, rows: SortedRows) -> Written:
    """Have the rows written as a layer whose cleanup record stands and that no branch lists yet.

    Raises:
        InvalidInput, LimitExceeded: as `codec.entry.normalise`, for the first part with such rows.
    """
    pieces: list[Piece] = []
    removals = 0
    for part in rows.map(stores.cluster, partial(write_part, repo, layer)):
        if part.pieces and pieces and part.pieces[0].min_key <= pieces[-1].max_key:
            path = part.pieces[0].min_key.decode()
            raise InvalidInput(f"path {path!r}: its part must be behind those before", kind=Kind.InvalidPath, path=path)
        pieces += part.pieces
        removals += part.removals
    if pieces:
        write_manifest(stores.blobs.at(repo.storage_namespace), layer, pieces)
    return Written(sum(piece.count for piece in pieces), removals, len(pieces))


def write_part(repo: Repository, layer: LayerId, stores: Stores, batches: Iterator[pa.RecordBatch]) -> Part:
    """In a worker: check the rows of a part, and write them. Memory: the rows of one piece."""
    blobs = stores.blobs.at(repo.storage_namespace)
    attempt = stores.ids.fresh()
    pieces: list[Piece] = []
    removals = 0
    for number, portion in enumerate(portions(batches)):
        records = normalise(portion)
        if pieces and records[KEY][0].as_py() <= pieces[-1].max_key:
            raise _out_of_order(records, pieces[-1].max_key)
        pieces.append(write_piece(blobs, layer, f"{attempt}-{number:06d}.parquet", records))
        removals += pc.sum(records[TOMBSTONE]).as_py()
    return Part(tuple(pieces), removals)


def _out_of_order(records: pa.Table, before: bytes) -> InvalidInput:
    path = row_path(records[KEY], 0)
    if path.encode() == before:
        return there_twice(path)
    why = f"path {path!r}: comes behind {before!r}; rows must be sorted"
    return InvalidInput(why, kind=Kind.InvalidPath, path=path)
