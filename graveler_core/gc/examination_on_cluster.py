"""Comparison of the objects in a namespace with all names, on a cluster.

Each task of a first stage lists a range of addresses, reads a file of an inventory, or reads the addresses in some
files of commits. The rows are shuffled by address, so that the names of an object and the object itself come to the
same task of a second stage, which compares them. Generated addresses are random, so ranges of equal width have about
equal numbers of objects. The driver receives numbers, and the objects that nothing names.

A task may run twice: it only reads. A worker cannot see less than the driver would:

* Files of commits never change. If one is missing, the examination fails, as it does on the driver.
* Staged changes are read by the driver, between two reads of their branch record (`gc.name_references`).
* A listing on a worker is later than the names that were read before. An object that is named meanwhile is found
  without a name, as on the driver if it is named after the names were read. It is condemned, and spared after the grace
  period, when all names are read again (`gc.collection`).
* Uploads in progress are read before the names, and before the listing. An upload that begins later stores objects
  that are younger than the cutoff. An upload that had ended before is committed, so its names are found, or its objects
  are being deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.inventory import InventoryFile
from graveler_core.blobs.port import LISTED
from graveler_core.gc.candidates import named_within
from graveler_core.gc.commit_groups import NamedBy
from graveler_core.gc.examined_objects import ExaminedObjects, Measured, with_reasons
from graveler_core.gc.name_references import NameReferences, NamingFiles
from graveler_core.gc.named_addresses import COLUMNS
from graveler_core.gc.named_files import EntryFile, read_entries, uncached
from graveler_core.gc.object_listing import KeyRange, ObjectListing, of_uploads, split_points, texts
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.objects.condemned import ADDRESSES, CONDEMNED
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Cluster, Stores

_CANDIDATE, _YOUNG, _UPLOADING, _LEFT_OUT = "candidate", "young", "uploading", "left out"
"""Kinds of rows in transit, besides the values of `NamedBy`. They are in the column `etag`."""
_ROWS = 500_000
"""Number of rows that are compared at once."""
_KNOWN = 100_000
"""Number of addresses that the driver sends in one item."""
_FIELDS = pa.schema(map(ENTRY_SCHEMA.field, COLUMNS))


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """Values that all tasks need."""

    repository: RepositoryRecord
    listing: ObjectListing | None
    """`None` if the driver knows the objects."""
    uploads: frozenset[str]
    """Ids of the uploads in progress."""
    tasks: int
    """Number of partitions."""


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Rows that the driver sends, in `LISTED`."""

    rows: pa.Table


Item = KeyRange | InventoryFile | NamingFiles | KnownRows


@dataclass(frozen=True, slots=True)
class KnownToDriver:
    """Names and objects that the driver has read before the tasks begin."""

    names: NameReferences
    objects: pa.Table | None = None
    """Objects to examine, in `CONDEMNED`. `None` if they are listed."""
    left_out: pa.Table | None = None
    """Objects that are not examined although they are listed, in `CONDEMNED`."""

    def items(self, tasks: int) -> Iterator[Item]:
        """Yield the items for some tasks."""
        yield from self.names.batches(tasks)
        for by, addresses in self.names.addresses:
            yield from _sent(addresses, None, str(int(by)))
        for kind, objects in ((_CANDIDATE, self.objects), (_LEFT_OUT, self.left_out)):
            if objects is not None:
                yield from _sent(objects.column("address"), objects.column("size"), kind)


def spread(
    stores: Stores, cluster: Cluster, work: ClusterWork, known: KnownToDriver, progress: Progress
) -> ExaminedObjects:
    """Compare on the cluster.

    Args:
        stores: Stores of the driver.
        cluster: The cluster.
        work: Values that all tasks need.
        known: Names and objects that the driver has read.
        progress: Called with the number of objects examined since the last call.

    Raises:
        CorruptData: An item that names objects is missing or damaged.
    """
    cuts = [point.encode() for point in split_points(work.tasks)]
    items = [*known.items(work.tasks), *(work.listing.parts(stores, work.tasks) if work.listing else ())]
    unnamed, done = list[pa.Table](), ExaminedObjects(CONDEMNED.empty_table())
    for part in cluster.sort(partial(_found, work), items, cuts, partial(_comparing, work)):
        unnamed.append(part.unnamed)
        done = done.plus(part)
        progress(part.named[0] + part.unnamed.num_rows)
    return replace(done, unnamed=pa.concat_tables([done.unnamed, *unnamed]).combine_chunks())


def _sent(addresses: pa.ChunkedArray, sizes: pa.ChunkedArray | None, kind: str) -> Iterator[KnownRows]:
    for start in range(0, len(addresses), _KNOWN):
        part = addresses.slice(start, _KNOWN).combine_chunks()
        yield KnownRows(_rows(part, None if sizes is None else sizes.slice(start, _KNOWN).combine_chunks(), kind))


def _found(work: ClusterWork, stores: Stores, item: Item) -> Iterator[pa.Table]:
    """Yield the rows of an item, in a worker."""
    match item:
        case KnownRows():
            yield item.rows
        case NamingFiles():
            yield _of_files(work.repository, stores, item)
        case _:
            assert work.listing is not None  # noqa: S101 - only a listing has such items
            for page in work.listing.read(stores, item):
                yield _listed(work.listing, work.uploads, page)


def named_in(own: RepositoryRecord, stores: Stores, repo: RepositoryRecord, file: EntryFile) -> pa.ChunkedArray:
    """Return the addresses in the namespace of a repository that a file of a repository names.

    Raises:
        CorruptData: The file is missing or damaged.
    """
    entries = read_entries(uncached(stores, repo), file, _FIELDS)
    return named_within(entries, own.storage_namespace, is_own=repo.uid == own.uid)


def _of_files(own: RepositoryRecord, stores: Stores, item: NamingFiles) -> pa.Table:
    """Return the addresses that entries in some files name, each once."""
    chunks = [chunk for file in item.files for chunk in named_in(own, stores, item.repository, file).chunks]
    return _rows(pc.unique(pa.chunked_array(chunks, pa.string())), None, str(int(item.by)))


def _listed(listing: ObjectListing, uploads: frozenset[str], page: pa.Table) -> pa.Table:
    """Return listed objects, each with its kind."""
    kinds = pc.if_else(of_uploads(page.column(KEY), uploads), _UPLOADING, _CANDIDATE)
    kinds = pc.if_else(listing.is_young(page), _YOUNG, kinds)
    return page.set_column(page.schema.get_field_index("etag"), LISTED.field("etag"), kinds)


def _rows(addresses: pa.Array, sizes: pa.Array | None, kind: str) -> pa.Table:
    """Return addresses as rows of a kind, in `LISTED`."""
    number = len(addresses)
    columns = [
        addresses.cast(pa.binary()),
        pa.array(np.zeros(number, np.int64)) if sizes is None else sizes,
        pa.array([kind], pa.string()).take(pa.array(np.zeros(number, np.int32))),
        pa.nulls(number, LISTED.field("mtime").type),
    ]
    return pa.Table.from_arrays(columns, schema=LISTED)


def _comparing(work: ClusterWork, stores: Stores, number: int, pages: Iterator[pa.Table]) -> ExaminedObjects:
    """Compare the rows of one partition, in a worker."""
    unnamed, done = list[pa.Table](), ExaminedObjects(CONDEMNED.empty_table())
    for rows in _whole_groups(pages):
        part = _compared(rows)
        part = part if work.listing is None else part.looked_up(stores, work.listing)
        unnamed.append(part.unnamed)
        done = done.plus(part)
    return replace(done, unnamed=pa.concat_tables([done.unnamed, *unnamed]).combine_chunks())


def _whole_groups(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Combine pages into larger ones. All rows of a key are in the same one."""
    waiting, rows = list[pa.Table](), 0
    for page in pages:
        waiting.append(page)
        rows += page.num_rows
        if rows < _ROWS:
            continue
        table = pa.concat_tables(waiting).combine_chunks()
        last = int(_starts(table)[-1])
        if last:
            yield table.slice(0, last)
        waiting, rows = [table.slice(last)], table.num_rows - last
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def _starts(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return the first row of each key."""
    keys = rows.column(KEY).combine_chunks()
    return np.flatnonzero(np.r_[True, pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)])


def _compared(rows: pa.Table) -> ExaminedObjects:
    """Compare sorted rows: each object gets the most important of its names."""
    starts, kinds = _starts(rows), rows.column("etag")
    sizes = np.maximum.reduceat(rows.column("size").to_numpy(), starts)

    def of_kind(kind: str) -> npt.NDArray[np.bool_]:
        return np.logical_or.reduceat(pc.equal(kinds, kind).to_numpy(), starts)

    marks = np.zeros(len(starts), np.int8)
    for by in NamedBy:
        marks[of_kind(str(int(by)))] = by
    candidate = of_kind(_CANDIDATE) & ~of_kind(_LEFT_OUT)

    def measured(chosen: npt.NDArray[np.bool_]) -> Measured:
        return int(chosen.sum()), int(sizes[chosen].sum())

    unnamed = candidate & (marks <= NamedBy.EXPIRING)
    addresses = texts(rows.column(KEY).take(pa.array(starts[unnamed])))
    objects = pa.table([addresses, pa.array(sizes[unnamed])], schema=ADDRESSES)
    return ExaminedObjects(
        with_reasons(objects, marks[unnamed]),
        measured(candidate & (marks > NamedBy.EXPIRING)),
        measured(candidate & (marks == NamedBy.HISTORY)),
        measured(of_kind(_YOUNG)),
        measured(of_kind(_UPLOADING)),
    )
