"""Sorted tables as files in the storage namespace, below one folder. A record lists the files with their bounds.

The size of a record is limited. So are the number of files of a table and the length of their bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.collection import SortedFile
from graveler_core.segments import format as segment_format

FILE_ROWS = 131_072
"""Number of rows in a file, unless the table would have too many files. Larger files have parts of as many rows."""
FILES = 16
"""Maximum number of files of a table. The files of a larger table have more rows."""
BOUND_BYTES = 64
"""Maximum size of the texts in a bound of a file."""
_LAST = "\U0010ffff"
"""Greatest character."""
_FILE = re.compile(r"[^/]+/[^/]+\.parquet")
"""Names of files, below a prefix."""
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
"""Characters that take more room in a record than in UTF-8."""


def write(
    blobs: Blobs, folder: str, tables: Iterable[pa.Table], rows: int, *, files: int = FILES
) -> tuple[SortedFile, ...]:
    """Write a table as files. Memory: the rows of one file, and one of the given tables.

    Args:
        blobs: Storage namespace of the repository.
        folder: Folder that no other call uses, with a trailing `/`.
        tables: The table, in consecutive parts, sorted by its first column, which contains texts.
        rows: Number of rows of the table, or a greater number.
        files: Maximum number of files.

    Returns:
        The files, in order.
    """
    return tuple(
        _written(blobs, folder, f"{number:06d}.parquet", part)
        for number, part in enumerate(_portions(tables, max(FILE_ROWS, -(-rows // files))))
    )


def read(blobs: Blobs, folder: str, files: Iterable[SortedFile], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of files in order, in tables of at most `FILE_ROWS` rows.

    Raises:
        CorruptData: A file is missing or damaged.
        MemoryError: There is too little memory for a table. Damage may cause this, too.
    """
    return chain.from_iterable(read_file(blobs, folder, file, schema) for file in files)


def read_all(blobs: Blobs, prefix: str, schema: pa.Schema) -> list[pa.Table]:
    """Return the tables of all files in folders below a prefix, in no order.

    A collection may replace files at the same time: it writes their rows to new files, and deletes the former files
    later. The files are therefore listed again after one was missing.

    Raises:
        CorruptData: A file is damaged.
    """
    found, missing, complete = dict[str, pa.Table](), set[str](), False
    while not complete:
        complete = True
        listed = {blob.address for blob in blobs.list(prefix) if _FILE.fullmatch(blob.address.removeprefix(prefix))}
        for name in sorted(listed - found.keys() - missing):
            try:
                found[name] = segment_format.decode(blobs.read(name), schema, name)
            except NotFound:
                missing.add(name)
                complete = False
    return list(found.values())


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
    for file, inside in covering(files, wanted):
        near = wanted.filter(inside)
        found += (rows.filter(pc.is_in(rows.column(0), near)) for rows in read_file(blobs, folder, file, schema))
    return pa.concat_tables(found)


def covering(files: Sequence[SortedFile], wanted: pa.Array) -> Iterator[tuple[SortedFile, pa.BooleanArray]]:
    """Yield the files whose bounds contain some of some texts, with a mask of these texts."""
    for file in files:
        inside = pc.and_(pc.greater_equal(wanted, file.first), pc.less_equal(wanted, file.last))
        if inside.true_count:
            yield file, inside


def read_file(
    blobs: Blobs, folder: str, file: SortedFile, schema: pa.Schema, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of one file, or some columns of them, as `read`."""
    name = folder + file.name
    try:
        data = blobs.read(name)
    except NotFound as e:
        raise CorruptData(f"{name}: is missing, but the collection record lists it", address=name) from e
    yield from segment_format.decode_parts(data, schema, name, columns)


def _portions(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield a table again in parts of as many rows. The last part may have fewer."""
    held: list[pa.Table] = []
    room = rows
    for table in tables:
        at = 0
        while at < table.num_rows:
            held.append(table.slice(at, room))
            at, room = at + held[-1].num_rows, room - held[-1].num_rows
            if not room:
                yield pa.concat_tables(held).combine_chunks()
                held, room = [], rows
    if held:
        yield pa.concat_tables(held).combine_chunks()


def _written(blobs: Blobs, folder: str, name: str, rows: pa.Table) -> SortedFile:
    blobs.create(folder + name, segment_format.encode(rows, row_group_rows=FILE_ROWS))
    found = rows.column(0)
    first, last = found[0].as_py(), found[-1].as_py()
    return SortedFile(name=name, first=_shortened(first), last=_upper_bound(last), count=rows.num_rows)


def _shortened(text: str) -> str:
    """Return the longest beginning of a text that a bound may have."""
    beginning = text.encode()[:BOUND_BYTES].decode(errors="ignore")
    return _ESCAPED.split(beginning, maxsplit=1)[0]


def _upper_bound(text: str) -> str:
    """Return a short text that is not less than a text."""
    shortened = _shortened(text)
    # If the rest begins with the greatest character, a single one may be less than the rest.
    rest = text[len(shortened) :]
    return shortened + _LAST * (len(rest) - len(rest.lstrip(_LAST)) + 1) if rest else text
