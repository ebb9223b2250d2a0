"""Sorted tables as files in the storage namespace, below one folder. A record lists the files with their bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.collection import SortedFile
from graveler_core.segments import format as segment_format

FILE_ROWS = 131_072
"""Maximum number of rows in a file."""


def write(blobs: Blobs, folder: str, rows: pa.Table) -> tuple[SortedFile, ...]:
    """Write a table as files.

    Args:
        blobs: Storage namespace of the repository.
        folder: Folder that no other call uses, with a trailing `/`.
        rows: Table, sorted by its first column, which contains texts.

    Returns:
        The files, in order.
    """
    files = []
    for start in range(0, rows.num_rows, FILE_ROWS):
        part = rows.slice(start, FILE_ROWS).combine_chunks()
        name = f"{start // FILE_ROWS:06d}.parquet"
        blobs.create(folder + name, segment_format.encode(part))
        found = part.column(0)
        files.append(SortedFile(name=name, first=found[0].as_py(), last=found[-1].as_py(), count=part.num_rows))
    return tuple(files)


def read(blobs: Blobs, folder: str, files: Sequence[SortedFile], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the tables of files, one after the other.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    return (_read(blobs, folder, file, schema) for file in files)


def among(blobs: Blobs, folder: str, files: Sequence[SortedFile], schema: pa.Schema, wanted: pa.Array) -> pa.Table:
    """Return the rows of files whose first column is one of some values. Read only files whose bounds contain one.

    Args:
        blobs: Storage namespace of the repository.
        folder: Folder of the files.
        files: The files.
        schema: Schema of the files.
        wanted: Texts, in any order.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    found = [schema.empty_table()]
    for file in files:
        inside = pc.and_(pc.greater_equal(wanted, file.first), pc.less_equal(wanted, file.last))
        asked = wanted.filter(inside)
        if len(asked):
            rows = _read(blobs, folder, file, schema)
            found.append(rows.filter(pc.is_in(rows.column(0), value_set=asked)))
    return pa.concat_tables(found)


def _read(blobs: Blobs, folder: str, file: SortedFile, schema: pa.Schema) -> pa.Table:
    name = folder + file.name
    try:
        data = blobs.read(name)
    except NotFound as e:
        raise CorruptData(f"{name}: is missing, but the collection record lists it", name=name) from e
    return segment_format.decode(data, schema, name)
