"""Previews of contents: text, images, and the schema and first rows of Parquet files.

The kind of preview depends on the content, not on the content type that somebody has stored with it. Only the beginning
of the content is read, except from Parquet files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from graveler_core.facade.content_file import ContentFile

TEXT_BYTES: Final = 64 << 10
"""Maximum number of bytes of a text that are shown."""
IMAGE_BYTES: Final = 16
"""Number of bytes at the beginning of a content by which an image is recognised."""
MAX_IMAGE_BYTES: Final = 20 << 20
ROWS: Final = 20
"""Maximum number of rows of a table that are shown."""
COLUMNS: Final = 50
CELL_CHARACTERS: Final = 200
MAX_FOOTER_BYTES: Final = 4 << 20
MAX_ROW_GROUP_BYTES: Final = 64 << 20
_PARQUET: Final = b"PAR1"
_IMAGES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass(frozen=True, slots=True)
class Preview:
    """Preview of a content. The fields of other kinds are empty."""

    kind: str
    """`text`, `image`, `table` or `none`."""
    note: str = ""
    """Note on the preview: the part that is shown, or the reason why there is none."""
    text: str = ""
    schema: tuple[tuple[str, str], ...] = ()
    """Names and types of columns."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def preview_of(content: ContentFile) -> Preview:
    """Return a preview of a content."""
    beginning = content.read_range(0, min(content.size, TEXT_BYTES))
    if image_type(beginning):
        if content.size > MAX_IMAGE_BYTES:
            return Preview("none", f"the image has more than {MAX_IMAGE_BYTES >> 20} MiB")
        return Preview("image")
    if beginning.startswith(_PARQUET) and len(beginning) >= 8:  # shorter contents have no footer
        return _table(content)
    return _text(beginning, content.size)


def image_type(beginning: bytes) -> str | None:
    """Return the content type of an image that a page may show, or `None` for other contents."""
    if beginning[:4] == b"RIFF" and beginning[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in _IMAGES if beginning.startswith(sign)), None)


def _text(beginning: bytes, size: int) -> Preview:
    cut = size > len(beginning)
    try:
        text = beginning.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start < len(beginning) - 3:
            return Preview("none", "there is no preview for contents of this kind")
        text = beginning[: error.start].decode()  # the cut is inside a character
    if "\0" in text:
        return Preview("none", "there is no preview for contents of this kind")
    return Preview("text", f"the first {TEXT_BYTES >> 10} KiB" if cut else "", text)


def _table(content: ContentFile) -> Preview:
    try:
        footer = int.from_bytes(content.read_range(content.size - 8, 4), "little")
        if footer > MAX_FOOTER_BYTES:
            return Preview("none", f"the footer has more than {MAX_FOOTER_BYTES >> 20} MiB")
        with parquet.ParquetFile(pa.PythonFile(content, "r")) as file:
            return _rows(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        return Preview("none", f"the content is not a Parquet file that can be read: {str(error)[:CELL_CHARACTERS]}")


def _rows(file: parquet.ParquetFile) -> Preview:
    schema = tuple((field.name, str(field.type)) for field in file.schema_arrow)
    about = f"rows: {file.metadata.num_rows:,}, row groups: {file.num_row_groups:,}"
    names = _shown_columns(file)
    if not names or not file.num_row_groups or file.metadata.row_group(0).total_byte_size > MAX_ROW_GROUP_BYTES:
        return Preview("table", about, schema=schema)
    columns, rows = tuple[str, ...](), list[tuple[str, ...]]()
    for _, batch in zip(range(ROWS), file.iter_batches(1, row_groups=[0], columns=names), strict=False):
        columns = tuple(batch.schema.names)
        rows.append(tuple(_cell(column[0]) for column in batch.columns))
    return Preview("table", about, "", schema, columns, tuple(rows))


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
