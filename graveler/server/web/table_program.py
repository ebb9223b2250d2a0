"""Program that reads the schema and the first rows of a Parquet file in a process of its own, with little memory.

A small Parquet file can expand to any size, and its metadata can hide that. Only the memory of the process bounds what
the reader allocates. The server starts the program: see `table_process`.

The program asks for parts of the file on its standard output, and reads them from its standard input. A request has a
position and a length, each as 8 bytes. A request with the position `ANSWER` announces the answer, as JSON of that
length: the fields of a preview. The program imports nothing of the server, so that it starts fast.
"""

from __future__ import annotations

import io
import json
import struct
import sys
from typing import IO, Any, Final

import pyarrow as pa
from pyarrow import parquet

REQUEST: Final = struct.Struct("<QQ")
ANSWER: Final = (1 << 64) - 1
ROWS: Final = 20
"""Maximum number of rows of a table that are shown."""
COLUMNS: Final = 50
CELL_CHARACTERS: Final = 200
MAX_ROW_GROUP_BYTES: Final = 64 << 20


class AskedFile(io.RawIOBase):
    """File whose parts the program asks for."""

    def __init__(self, size: int, requests: IO[bytes], parts: IO[bytes]) -> None:
        """Create the file.

        Args:
            size: Size of the file in bytes.
            requests: Takes the requests.
            parts: Has the parts, in the order of the requests.
        """
        super().__init__()
        self._size = size
        self._requests = requests
        self._parts = parts
        self._position = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the position, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes at the position, fewer at the end of the file."""
        left = max(0, self._size - self._position)
        length = left if size is None or size < 0 else min(size, left)
        if not length:
            return b""
        self._requests.write(REQUEST.pack(self._position, length))
        self._requests.flush()
        part = self._parts.read(length)
        self._position += len(part)
        return part


def table_of(file: parquet.ParquetFile) -> dict[str, Any]:
    """Return the schema and the first rows, as fields of a preview."""
    schema = [(field.name, str(field.type)) for field in file.schema_arrow]
    about = f"rows: {file.metadata.num_rows:,}, row groups: {file.num_row_groups:,}"
    found: dict[str, Any] = {"kind": "table", "note": about, "schema": schema}
    names = _shown_columns(file)
    if not names or not file.num_row_groups or file.metadata.row_group(0).total_byte_size > MAX_ROW_GROUP_BYTES:
        return found
    columns, rows = list[str](), list[list[str]]()
    batches = file.iter_batches(1, row_groups=[0], columns=names, use_threads=False)
    for _, batch in zip(range(ROWS), batches, strict=False):
        columns = batch.schema.names
        rows.append([_cell(column[0]) for column in batch.columns])
    return {**found, "columns": columns, "rows": rows}


def _shown_columns(file: parquet.ParquetFile) -> list[str]:
    """Return the names of the columns whose values are shown. They contain no lists.

    A list of any length, whose elements are equal, takes a few bytes in the file. The reader takes a name that is the
    beginning of a path for all columns with such paths.
    """
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    lists = [leaf.path for leaf in leaves if leaf.max_repetition_level]
    return [
        name
        for name in file.schema_arrow.names[:COLUMNS]
        if not any(path == name or path.startswith(f"{name}.") for path in lists)
    ]


def _cell(value: pa.Scalar) -> str:
    try:
        found = value.as_py()
    except (ArithmeticError, LookupError, ValueError):  # a time that Python cannot represent, or an unknown time zone
        return "…"
    text = "" if found is None else str(found)
    return text if len(text) <= CELL_CHARACTERS else text[:CELL_CHARACTERS] + "…"


def _answer(size: int, requests: IO[bytes], parts: IO[bytes]) -> dict[str, Any]:
    try:
        with parquet.ParquetFile(pa.PythonFile(AskedFile(size, requests, parts), "r")) as file:
            return table_of(file)
    except MemoryError:
        return {"kind": "none", "note": "the table needs too much memory"}
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error)[:CELL_CHARACTERS]
        return {"kind": "none", "note": f"the content is not a Parquet file that can be read: {reason}"}


def main(size: int, memory: int) -> None:
    """Read a file and answer.

    Args:
        size: Size of the file in bytes.
        memory: Maximum size of the memory of this process in bytes.
    """
    import resource  # noqa: PLC0415 - no module of Windows, where the server has no previews of tables

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    requests = sys.stdout.buffer
    answer = json.dumps(_answer(size, requests, sys.stdin.buffer)).encode()
    requests.write(REQUEST.pack(ANSWER, len(answer)) + answer)
    requests.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
