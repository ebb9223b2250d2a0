"""An inventory of a bucket as a source: Parquet files that list its objects, as S3 Inventory writes them.

Listing a billion objects takes days, reading their inventory minutes. It is as old as it is: what was written since is
not in it, and what was removed since is, so an import from it may name objects that are gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graveler_core.blobs.port import LISTED, Foreign
from graveler_core.codec.columns import without_first
from graveler_core.codec.full_addresses import full_addresses
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.model.address import Namespace, namespace, parted
from graveler_core.stores import Stores

_COLUMNS = {
    "key": ("key", "name"),
    "size": ("size",),
    "etag": ("etag", "e_tag"),
    "mtime": ("last_modified", "last_modified_date", "mtime"),
}
"""How inventories call what a listing tells; the first name that a file has counts."""
_NEEDED = ("key", "size")
_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything that the Parquet files at a URI list below a place. Held in memory is one of the files."""

    uri: str
    place: Namespace

    @property
    def name(self) -> str:
        return self.place.uri

    @property
    def places(self) -> tuple[Namespace, ...]:
        return (self.place,)

    @property
    def whole(self) -> bool:
        return True

    @property
    def rising(self) -> bool:
        return False

    def pages(self, stores: Stores) -> Iterator[pa.Table]:
        """As the protocol says.

        Raises:
            NotFound: there are no Parquet files.
            InvalidInput: a file is none, or lacks a column.
        """
        objects, keys = _files(stores, self.uri)
        for key in keys:
            try:
                with pq.ParquetFile(pa.BufferReader(objects.read(key))) as file:
                    for batch in file.iter_batches(_ROWS, columns=_wanted(file.schema_arrow, key)):
                        yield self._listed(pa.Table.from_batches([batch]))
            except (pa.ArrowException, OSError) as e:
                raise InvalidInput(f"inventory {self.uri!r}: file {key!r} is no Parquet that can be read ({e})") from e

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        return full_addresses(self.place, keys)

    def _listed(self, rows: pa.Table) -> pa.Table:
        """The rows of the place, as a listing has them."""
        kept = pc.starts_with(self._column(rows, LISTED.field("key")), self._below)
        if "bucket" in rows.schema.names:
            kept = pc.and_(kept, pc.equal(self._cast(rows, "bucket", pa.string()), self.place.bucket))
        for name, wanted in (("is_latest", True), ("is_delete_marker", False)):
            if name in rows.schema.names:
                kept = pc.and_(kept, pc.equal(self._cast(rows, name, pa.bool_()).fill_null(wanted), wanted))
        rows = rows.filter(kept)
        columns = {field.name: self._column(rows, field) for field in LISTED}
        columns["key"] = without_first(columns["key"].combine_chunks(), len(self._below))
        return pa.table(columns, LISTED)

    @property
    def _below(self) -> bytes:
        return os.fsencode(self.place.path + "/") if self.place.path else b""

    def _column(self, rows: pa.Table, field: pa.Field) -> pa.ChunkedArray:
        name = _name(rows.schema.names, field.name)
        if name is None:
            return pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
        column = self._cast(rows, name, field.type)
        if column.null_count and not field.nullable:
            raise InvalidInput(f"inventory {self.uri!r}: column {name!r}: must not hold nulls")
        return pc.replace_substring(column, '"', "") if field.name == "etag" else column

    def _cast(self, rows: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
        """A column in another type; times are cut to microseconds."""
        column = rows.column(name)
        if pa.types.is_boolean(kind) and column.type != kind:
            raise InvalidInput(f"inventory {self.uri!r}: column {name!r}: is {column.type}, must be {kind}")
        try:
            return column.cast(options=pc.CastOptions(target_type=kind, allow_time_truncate=True))
        except pa.ArrowException as e:
            raise InvalidInput(f"inventory {self.uri!r}: column {name!r}: {column.type} is no {kind}: {e}") from e


def _files(stores: Stores, uri: str) -> tuple[Foreign, Sequence[str]]:
    """The Parquet files at a URI: itself, or what lies below it."""
    place, name = parted(uri)
    alone = stores.blobs.foreign(place)
    if alone.head(name) is not None:
        return alone, [name]
    below = stores.blobs.foreign(namespace(uri))
    found = [os.fsdecode(key) for page in below.pages() for key in page.column("key").to_pylist()]
    files = [key for key in found if key.endswith(".parquet")]
    if not files:
        raise NotFound(f"inventory {uri!r}: there are no Parquet files", uri=uri)
    return below, files


def _wanted(schema: pa.Schema, key: str) -> list[str]:
    names = schema.names
    missing = [needed for needed in _NEEDED if _name(names, needed) is None]
    if missing:
        raise InvalidInput(f"inventory: file {key!r} lacks the column {missing[0]!r}; it has {', '.join(names)}")
    found = [_name(names, field) for field in _COLUMNS]
    extra = ("bucket", "is_latest", "is_delete_marker")
    return [name for name in (*found, *extra) if name is not None and name in names]


def _name(names: Sequence[str], field: str) -> str | None:
    return next((name for name in _COLUMNS[field] if name in names), None)
