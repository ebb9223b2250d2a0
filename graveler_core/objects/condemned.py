"""Condemned and deleted objects, as sorted files in the storage namespace. The collection record lists the files.

_graveler/collections/<id>/<number>.parquet     address, size, reason

A restored dump finds the files in its namespace: see `deleted_objects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.model.collection import CondemnedSet, SortedFile
from graveler_core.objects import sorted_files
from graveler_core.objects.sorted_files import FILES
from graveler_core.segments.sorted_keys import KEY
from graveler_core.segments.streams import merge

PREFIX = "_graveler/collections/"
"""Prefix of the files of all sets."""
ADDRESSES = pa.schema([pa.field("address", pa.string(), nullable=False), pa.field("size", pa.int64(), nullable=False)])
"""Columns of a listing of objects, sorted by address as UTF-8."""
CONDEMNED = ADDRESSES.append(pa.field("reason", pa.string(), nullable=False))
"""Columns of a file, sorted by address as UTF-8. The reason is a value of `Reason`."""


def write(
    blobs: Blobs, id: str, objects: Iterable[pa.Table], count: int, *, files: int = FILES
) -> tuple[SortedFile, ...]:
    """Write the files of a set under an id that no other call uses.

    Args:
        blobs: Storage namespace of the repository.
        id: Id of the set.
        objects: Consecutive tables in `CONDEMNED`, sorted by address.
        count: Number of the objects, or a greater number.
        files: Maximum number of files.

    Returns:
        The files, in order.
    """
    return sorted_files.write(blobs, f"{PREFIX}{id}/", objects, count, files=files)


def uris(blobs: Blobs, condemned: CondemnedSet) -> tuple[str, ...]:
    """Return the URIs of the files of a set, in order."""
    return tuple(blobs.uri(f"{PREFIX}{condemned.id}/{file.name}") for file in condemned.files)


def read(blobs: Blobs, condemned: CondemnedSet) -> Iterator[pa.Table]:
    """Yield the objects of a set in order, in tables of at most `sorted_files.FILE_ROWS` rows.

    Raises:
        CorruptData: A file is missing or damaged.
        MemoryError: There is too little memory for a table. Damage may cause this, too.
    """
    return sorted_files.read(blobs, f"{PREFIX}{condemned.id}/", condemned.files, CONDEMNED)


def addresses(blobs: Blobs, condemned: CondemnedSet, file: SortedFile) -> Iterator[pa.StringArray]:
    """Yield the addresses in one file of a set in order, some at a time.

    Raises:
        CorruptData: The file is missing or damaged.
        MemoryError: There is too little memory for some of them. Damage may cause this, too.
    """
    for part in sorted_files.read_file(blobs, f"{PREFIX}{condemned.id}/", file, CONDEMNED, ["address"]):
        yield part.column("address").combine_chunks()


def covering(condemned: CondemnedSet, addresses: pa.Array) -> Iterator[tuple[SortedFile, pa.BooleanArray]]:
    """Yield the files of a set whose bounds contain some of some addresses, with a mask of these."""
    return sorted_files.covering(condemned.files, addresses)


def united(blobs: Blobs, sets: Iterable[CondemnedSet]) -> Iterator[pa.Table]:
    """Yield the objects of sets as consecutive tables in `CONDEMNED`, sorted, each address once. Memory: one
    file of each set as it is stored, and `sorted_files.FILE_ROWS` decoded rows of it.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    for table in merge([map(_keyed, read(blobs, one)) for one in sets]):
        yield pa.table([table.column(KEY).cast(pa.string()), *table.columns[1:]], schema=CONDEMNED)


def merged(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the union of tables in `CONDEMNED`, sorted, each address once."""
    rows = pa.concat_tables([CONDEMNED.empty_table(), *tables])
    unique = rows.group_by("address").aggregate([("size", "max"), ("reason", "min")]).sort_by("address")
    columns = [unique.column(name) for name in ("address", "size_max", "reason_min")]
    return pa.table(columns, schema=CONDEMNED).combine_chunks()


def _keyed(objects: pa.Table) -> pa.Table:
    """Return objects with their addresses as keys."""
    return objects.set_column(0, KEY, objects.column("address").cast(pa.binary()))


def deleted_objects(blobs: Blobs) -> pa.Table:
    """Return the objects, in `CONDEMNED`, that any set in a namespace contains and that do not exist.

    The namespace of a restored dump is that of the dumped repository, or a copy. Collections there may have deleted
    the objects, also after the dump.
    """
    found = merged(sorted_files.read_all(blobs, PREFIX, CONDEMNED))
    if not found.num_rows:
        return found
    generated = pc.all(pc.starts_with(found.column("address"), "data/")).as_py()
    there = pa.array([blob.address for blob in blobs.list("data/" if generated else "")], pa.string())
    return found.filter(pc.invert(pc.is_in(found.column("address"), value_set=there))).combine_chunks()
