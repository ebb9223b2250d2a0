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

from graveler_core.blobs.port import LISTED
from graveler_core.codec.columns import without_first
from graveler_core.codec.full_addresses import full_addresses
from graveler_core.engine.importing.inventory_shares import InventoryShares
from graveler_core.engine.importing.shares import Shares
from graveler_core.engine.importing.side_by_side import Told, unheard
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
class File:
    """A file of an inventory."""

    place: Namespace
    key: str


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

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """As the protocol says.

        Raises:
            NotFound: there are no Parquet files.
            InvalidInput: a file is none, or lacks a column.
        """
        for file in self.files(stores):
            yield from self.read(stores, file, told)

    def shares(self) -> Shares:
        return InventoryShares(self)

    def files(self, stores: Stores) -> list[File]:
        """The Parquet files at the URI: itself, or what lies below it.

        Raises:
            NotFound: there are none.
        """
        place, name = parted(self.uri)
        if stores.blobs.foreign(place).head(name) is not None:
            return [File(place, name)]
        below = namespace(self.uri)
        pages = stores.blobs.foreign(below).pages()
        found = [os.fsdecode(key) for page in pages for key in page.column("key").to_pylist()]
        files = [File(below, key) for key in found if key.endswith(".parquet")]
        if not files:
            raise NotFound(f"inventory {self.uri!r}: there are no Parquet files", uri=self.uri)
        return files

    def read(self, stores: Stores, file: File, told: Told = unheard) -> Iterator[pa.Table]:
        """What one of the files lists of the place, in `LISTED`; `told` hears of all rows of the file.

        Raises:
            NotFound: the file is gone.
            InvalidInput: it is no Parquet, or lacks a column.
        """
        data = stores.blobs.foreign(file.place).read(file.key)
        try:
            with pq.ParquetFile(pa.BufferReader(data)) as opened:
                for batch in opened.iter_batches(_ROWS, columns=_wanted(opened.schema_arrow, file.key)):
                    told(batch.num_rows)
                    yield self._listed(pa.Table.from_batches([batch]))
        except (pa.ArrowException, OSError) as e:
            raise InvalidInput(f"inventory {self.uri!r}: file {file.key!r} is no Parquet that can be read ({e})") from e

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
