"""Segment layers that many machines write: each machine writes the files of its partition, and the driver lists them.

A worker checks its rows as `stage_many` does, and writes files under names that contain the id of its attempt. It
neither reads nor swaps a branch record. It returns one manifest line per file. The driver takes one result for each
partition and lists the files of these results in the manifest. Then `engine.staging.bulk` adds the layer with a swap.
Before the swap, nothing of the layer is visible.

Late or failed processes do no harm:

* *A task that runs again* (because a worker died, or as a speculative attempt) has its own id, so it does not
  overwrite files of an earlier attempt. The manifest lists exactly the files of the result that was taken. All of
  them were written before that result was returned. Files of other attempts are stored under the layer's id and are
  not listed anywhere. They are deleted with the layer.
* *An attempt that ends after the swap* writes files into a layer that is in use. They are not listed, so they are
  never read.
* *A driver that dies before the swap* leaves a layer that its cleanup record names. The record was created before
  the first worker began. A driver that dies after the swap leaves nothing to do.
* *A cleaner* takes the layer only if its record has not been renewed for as long as a bulk write may take. It then
  claims the record and swaps the branch record, so no swap that missed the claim can succeed (`engine.staging.bulk`,
  `engine.cleaning.live`).
* *A worker that writes after the cleaner dropped the layer*, whether the layer was committed or never listed, leaves
  files under an id that no record names and no record will name. `gc.sweep` deletes them once they are old enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry import normalise
from graveler_core.codec.entry_columns import there_twice
from graveler_core.codec.entry_rules import require_new_keys
from graveler_core.codec.row_name import row_path
from graveler_core.engine.staging.kept_content import require_kept_rows
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.changes import Written
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import LayerId
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging.segment_layer import Piece, portions, write_manifest, write_piece
from graveler_core.stores import SortedRows, Stores


@dataclass(frozen=True, slots=True)
class LayerPartition:
    """Result of a worker: its files, in order."""

    files: tuple[Piece, ...]
    removals: int


def write_partitions(stores: Stores, repo: RepositoryRecord, layer: LayerId, rows: SortedRows) -> Written:
    """Write the rows as a layer that has a cleanup record and that no branch lists yet.

    Raises:
        InvalidInput, LimitExceeded: As for `codec.entry.normalise`, from the first partition with such rows.
    """
    files: list[Piece] = []
    removals = 0
    for part in rows.map(stores.cluster, partial(write_partition, repo, layer)):
        if part.files and files and part.files[0].min_key <= files[-1].max_key:
            path = part.files[0].min_key.decode()
            raise InvalidInput(
                f"path {path!r}: its partition must sort after the previous ones", kind=Kind.InvalidPath, path=path
            )
        files += part.files
        removals += part.removals
    if files:
        write_manifest(stores.blobs.at(repo.storage_namespace), layer, files)
    return Written(sum(file.count for file in files), removals, len(files))


def write_partition(
    repo: RepositoryRecord, layer: LayerId, stores: Stores, batches: Iterator[pa.RecordBatch]
) -> LayerPartition:
    """Check the rows of a partition and write them, in a worker. Memory: the rows of one file."""
    blobs = stores.blobs.at(repo.storage_namespace)
    attempt = stores.ids.fresh()
    files: list[Piece] = []
    removals = 0
    for number, portion in enumerate(portions(batches)):
        records = normalise(portion)
        require_new_keys(records)
        if files and records[KEY][0].as_py() <= files[-1].max_key:
            raise _out_of_order(records, files[-1].max_key)
        require_kept_rows(stores, repo, records, swaps=False)  # the driver reads the record again
        files.append(write_piece(blobs, layer, f"{attempt}-{number:06d}.parquet", records))
        removals += pc.sum(records[TOMBSTONE]).as_py()
    return LayerPartition(tuple(files), removals)


def _out_of_order(records: pa.Table, before: bytes) -> InvalidInput:
    path = row_path(records[KEY], 0)
    if path.encode() == before:
        return there_twice(path)
    previous = before.decode(errors="replace")
    why = f"path {path!r}: follows {previous!r}, which is greater; sort the rows of each partition by path"
    return InvalidInput(why, kind=Kind.InvalidPath, path=path)
