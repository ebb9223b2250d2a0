"""Inventories: files that list the objects of a bucket, as S3 Inventory writes them. They replace a listing.

Listing a billion objects takes days, and reading their inventory takes minutes. The inventory shows an earlier state:
objects that were written since are missing, and objects that were removed since are still listed.

An inventory consists of Parquet files, or of a manifest (`manifest.json`) that names Parquet or CSV files. CSV files
have no header line. The manifest names their columns, and their keys are URL-encoded. S3 writes the manifest to a
directory of its own, beside the directory of the files. A manifest that names other files is refused, so that it cannot
lead to files that its reader may not read.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from graveler_core.blobs.port import LISTED, BlobStores
from graveler_core.codec.columns import without_first
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.model.address import Namespace, namespace, parted

_COLUMNS = {
    "key": ("key", "name"),
    "size": ("size",),
    "etag": ("etag", "e_tag"),
    "mtime": ("last_modified", "last_modified_date", "mtime"),
}
"""Names of the columns in inventories; the first name that a file contains is used."""
_NEEDED = ("key", "size")
_EXTRA = ("bucket", "is_latest", "is_delete_marker")
_OF_CSV = {
    "Bucket": "bucket",
    "Key": "key",
    "Size": "size",
    "LastModifiedDate": "last_modified_date",
    "ETag": "e_tag",
    "IsLatest": "is_latest",
    "IsDeleteMarker": "is_delete_marker",
}
"""Names of the columns of CSV files in manifests, and in Parquet files."""
_MANIFEST = ".json"
_ROWS = 65_536

Told: TypeAlias = Callable[[int], object]
"""Function that receives numbers of rows as they are read."""


@dataclass(frozen=True, slots=True)
class InventoryFile:
    """File of an inventory."""

    place: Namespace
    key: str
    columns: tuple[str, ...] = ()
    """Names of the columns of a CSV file. Parquet files have none here."""


@dataclass(frozen=True, slots=True)
class InventoryFiles:
    """Inventory at a URI, and the place whose objects are read from it. One of the files is in memory at a time.

    The URI is that of a manifest, of a Parquet file, or of a directory with Parquet files.
    """

    uri: str
    place: Namespace

    def files(self, blobs: BlobStores) -> list[InventoryFile]:
        """Return the files.

        Raises:
            NotFound: There are no Parquet files.
            InvalidInput: The manifest is damaged, or names files in an unknown format.
        """
        place, name = parted(self.uri)
        if name.endswith(_MANIFEST):
            return self._manifest(place, blobs.foreign(place).read(name))
        if blobs.foreign(place).head(name) is not None:
            return [InventoryFile(place, name)]
        below = namespace(self.uri)
        found = [os.fsdecode(key) for page in blobs.foreign(below).pages() for key in page.column("key").to_pylist()]
        files = [InventoryFile(below, key) for key in found if key.endswith(".parquet")]
        if not files:
            raise NotFound(f"inventory {self.uri!r}: there are no Parquet files", uri=self.uri)
        return files

    def read(self, blobs: BlobStores, file: InventoryFile, told: Told = lambda rows: None) -> Iterator[pa.Table]:
        """Yield the objects of the place from one of the files, in `LISTED`. `told` receives the number of all rows of
        the file.

        Raises:
            NotFound: The file does not exist any more.
            InvalidInput: The file is damaged, or lacks a column.
        """
        data = blobs.foreign(file.place).read(file.key)
        try:
            for table in _csv(data, file) if file.columns else _parquet(data, file.key):
                told(table.num_rows)
                yield self._listed(table)
        except (pa.ArrowException, OSError, EOFError, zlib.error) as e:
            kind = "CSV" if file.columns else "Parquet"
            raise InvalidInput(f"inventory {self.uri!r}: file {file.key!r} is not a readable {kind} file ({e})") from e

    def _manifest(self, place: Namespace, data: bytes) -> list[InventoryFile]:
        """Return the files that a manifest names."""
        try:
            manifest = json.loads(data)
            kind, keys = str(manifest["fileFormat"]), [str(file["key"]) for file in manifest["files"]]
            bucket, schema = str(manifest["destinationBucket"]).rpartition(":::")[2], str(manifest["fileSchema"])
        except (ValueError, KeyError, TypeError, RecursionError) as e:
            raise InvalidInput(f"inventory {self.uri!r}: is not a manifest of S3 Inventory ({e!r})") from e
        if kind not in ("CSV", "Parquet"):
            raise InvalidInput(f"inventory {self.uri!r}: format {kind!r} of the files: must be CSV or Parquet")
        home = inventory_home(self.uri)
        above = home.path + "/" if home.path else ""
        for key in keys:
            if bucket != place.bucket or not key.startswith(above):
                raise InvalidInput(
                    f"inventory {self.uri!r}: file {key!r} in bucket {bucket!r}: must be below {home.uri}, where S3 "
                    "writes it"
                )
        names = [name.strip() for name in schema.split(",")] if kind == "CSV" else []
        columns = tuple(_OF_CSV.get(name, name) for name in names)
        return [InventoryFile(home, key.removeprefix(above), columns) for key in keys]

    def _listed(self, rows: pa.Table) -> pa.Table:
        """Return the rows of the place, in the form of a listing."""
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
        """Return a column in another type. Times are truncated to microseconds."""
        column = rows.column(name)
        if pa.types.is_boolean(kind) and column.type != kind:
            raise InvalidInput(f"inventory {self.uri!r}: column {name!r}: is {column.type}, must be {kind}")
        try:
            return column.cast(options=pc.CastOptions(target_type=kind, allow_time_truncate=True))
        except pa.ArrowException as e:
            raise InvalidInput(
                f"inventory {self.uri!r}: column {name!r}: {column.type} is not a valid {kind}: {e}"
            ) from e


def inventory_home(uri: str) -> Namespace:
    """Return the place below which all files of an inventory are. For a manifest, it is two directories above it."""
    place = namespace(uri)
    if not place.path.endswith(_MANIFEST):
        return place
    return Namespace(place.scheme, place.bucket, "/".join(place.path.split("/")[:-2]))


def _parquet(data: bytes, key: str) -> Iterator[pa.Table]:
    with pq.ParquetFile(pa.BufferReader(data)) as opened:
        for batch in opened.iter_batches(_ROWS, columns=_wanted(opened.schema_arrow.names, key)):
            yield pa.Table.from_batches([batch])


def _csv(data: bytes, file: InventoryFile) -> Iterator[pa.Table]:
    names, wanted = list(file.columns), _wanted(file.columns, file.key)
    kinds: dict[str, Any] = dict.fromkeys(names, pa.string())
    kinds |= {"size": pa.int64(), "last_modified_date": pa.timestamp("us", "UTC")}
    kinds |= dict.fromkeys(("is_latest", "is_delete_marker"), pa.bool_())
    raw = gzip.decompress(data) if file.key.endswith(".gz") else data
    if not raw:
        return
    convert = csv.ConvertOptions(
        column_types={name: kinds[name] for name in names},
        include_columns=wanted,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        null_values=[""],
    )
    reader = csv.open_csv(io.BytesIO(raw), csv.ReadOptions(column_names=names), convert_options=convert)
    for batch in reader:
        table = pa.Table.from_batches([batch])
        keys = table.column("key")
        if pc.any(pc.match_substring_regex(keys, "[%+]"), min_count=0).as_py():
            # Nulls stay, and are refused as in Parquet files.
            plain = [None if key is None else unquote_plus(key) for key in keys.to_pylist()]
            keys = pa.chunked_array([plain], pa.string())
        # The size of a delete marker is empty.
        sizes = table.column("size").fill_null(0) if "is_delete_marker" in names else table.column("size")
        table = table.set_column(table.schema.get_field_index("key"), "key", keys)
        yield table.set_column(table.schema.get_field_index("size"), "size", sizes)


def _wanted(names: Sequence[str], key: str) -> list[str]:
    """Return the names of the columns to read."""
    missing = [needed for needed in _NEEDED if _name(names, needed) is None]
    if missing:
        raise InvalidInput(f"inventory: file {key!r} lacks the column {missing[0]!r}; it has {', '.join(names)}")
    found = [_name(names, field) for field in _COLUMNS]
    return [name for name in (*found, *_EXTRA) if name is not None and name in names]


def _name(names: Sequence[str], field: str) -> str | None:
    return next((name for name in _COLUMNS[field] if name in names), None)
