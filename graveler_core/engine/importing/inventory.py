"""Inventory of a bucket as a source: Parquet files that list its objects, as S3 Inventory writes them.

Listing a billion objects takes days, and reading their inventory takes minutes. The inventory shows an earlier
state: objects that were written since are missing, and objects that were removed since are still listed. An import
from it may therefore refer to objects that no longer exist.

A cluster reads an inventory in partitions. Its files are in no order, so rows of any partition may be in each of
them. A first pass samples the keys of every file. The samples show the size of the inventory, and the split points
of partitions of about equal size. In a second pass, the cluster sorts the rows of all files by partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graveler_core.blobs.port import LISTED
from graveler_core.codec.columns import without_first
from graveler_core.engine.importing.concurrent_listing import Told, unheard
from graveler_core.engine.importing.partitions import PartitionedSource, SourcePartition, U, Work
from graveler_core.engine.importing.sources import ObjectsBelow
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.address import Namespace, namespace, parted
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Cluster, Stores

_COLUMNS = {
    "key": ("key", "name"),
    "size": ("size",),
    "etag": ("etag", "e_tag"),
    "mtime": ("last_modified", "last_modified_date", "mtime"),
}
"""Names of the columns in inventories; the first name that a file contains is used."""
_NEEDED = ("key", "size")
_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class InventoryFile:
    """File of an inventory."""

    place: Namespace
    key: str


@dataclass(frozen=True, slots=True)
class Inventory(ObjectsBelow):
    """Objects that the Parquet files at a URI list below a place. One of the files is in memory at a time."""

    uri: str
    rising = False

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects, as the protocol specifies.

        Raises:
            NotFound: There are no Parquet files.
            InvalidInput: A file is not a Parquet file, or lacks a column.
        """
        for file in self.files(stores):
            yield from self.read(stores, file, told)

    def partitions(self) -> PartitionedSource:
        return InventoryPartitions(self)

    def files(self, stores: Stores) -> list[InventoryFile]:
        """Return the Parquet files at the URI: the file itself, or the files below it.

        Raises:
            NotFound: There are no Parquet files.
        """
        place, name = parted(self.uri)
        if stores.blobs.foreign(place).head(name) is not None:
            return [InventoryFile(place, name)]
        below = namespace(self.uri)
        pages = stores.blobs.foreign(below).pages()
        found = [os.fsdecode(key) for page in pages for key in page.column("key").to_pylist()]
        files = [InventoryFile(below, key) for key in found if key.endswith(".parquet")]
        if not files:
            raise NotFound(f"inventory {self.uri!r}: there are no Parquet files", uri=self.uri)
        return files

    def read(self, stores: Stores, file: InventoryFile, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects of the place from one of the files, in `LISTED`. `told` receives the number of all rows of
        the file.

        Raises:
            NotFound: The file does not exist any more.
            InvalidInput: The file is not a Parquet file, or lacks a column.
        """
        data = stores.blobs.foreign(file.place).read(file.key)
        try:
            with pq.ParquetFile(pa.BufferReader(data)) as opened:
                for batch in opened.iter_batches(_ROWS, columns=_wanted(opened.schema_arrow, file.key)):
                    told(batch.num_rows)
                    yield self._listed(pa.Table.from_batches([batch]))
        except (pa.ArrowException, OSError) as e:
            raise InvalidInput(f"inventory {self.uri!r}: file {file.key!r} is not a readable Parquet file ({e})") from e

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


SAMPLE = 256
"""Number of keys that are sampled from a file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Sorted keys of a file at about equal distances, and the number of rows of the file."""

    keys: tuple[bytes, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class InventoryPartitions:
    """Inventory divided into partitions by key."""

    inventory: Inventory

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """Process each partition, as the protocol specifies. The driver holds the names of the files and a few keys of
        each.
        """
        files = self.inventory.files(stores)
        samples = list(cluster.map(partial(_sampling, self.inventory), files))
        partitions = cluster.tasks(sum(sample.rows for sample in samples))
        cuts = sampled_split_points(samples, partitions)
        return cluster.sort(partial(_file_read, self.inventory), files, cuts, partial(_sorting, work, tuple(cuts)))


def sampled_split_points(samples: Iterable[Sample], partitions: int) -> list[bytes]:
    """Return ascending keys that divide the sampled rows into at most `partitions` partitions of about equal size."""
    weighted = sorted((key, sample.rows / len(sample.keys)) for sample in samples for key in sample.keys)
    if not weighted:
        return []
    keys, weights = zip(*weighted, strict=True)
    before = np.cumsum(weights)
    wished = np.arange(1, partitions) * (before[-1] / partitions)
    return sorted({keys[at] for at in np.searchsorted(before, wished)})


def _sampling(inventory: Inventory, stores: Stores, file: InventoryFile) -> Sample:
    """Sample keys of a file, in a worker."""
    chunks = [page.column(KEY) for page in inventory.read(stores, file)]
    keys = pa.chunked_array(list(chain.from_iterable(chunk.chunks for chunk in chunks)), pa.binary())
    if not len(keys):
        return Sample((), 0)
    order = pc.sort_indices(keys)
    chosen = order.take(pa.array(np.linspace(0, len(keys) - 1, min(len(keys), SAMPLE)).astype(np.int64)))
    return Sample(tuple(keys.take(chosen).to_pylist()), len(keys))


def _file_read(inventory: Inventory, stores: Stores, file: InventoryFile) -> Iterator[pa.Table]:
    """Read a file, in a worker."""
    return inventory.read(stores, file)


def _sorting(work: Work[U], cuts: Sequence[bytes], stores: Stores, number: int, pages: Iterator[pa.Table]) -> U:
    """Process one partition, in a worker."""
    after, through = list(pairwise((None, *cuts, None)))[number]
    return work(stores, SourcePartition(after, through, _once(pages)))


def _once(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the pages. Raise `InvalidInput` if a key is listed again."""
    last = pa.array([], pa.binary())
    for page in pages:
        keys = pa.concat_arrays([last, *page.column(KEY).chunks])
        doubled = pc.sum(pc.equal(keys[:-1], keys[1:]), min_count=0).as_py()
        if doubled:
            raise InvalidInput(
                f"import: {doubled:,} keys are listed again; an inventory must list one version of each object",
                kind=Kind.InvalidPath,
            )
        last = keys[len(keys) - 1 :]
        yield page
