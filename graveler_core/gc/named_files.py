"""Files with committed entries: ranges and large runs of indexes. They never change, so any machine can read them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.blobs.unreadable import ExaminedBlobs
from graveler_core.committed.trees import address
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.segments import format as segment_format
from graveler_core.stores import Stores


class EntryFileKind(StrEnum):
    """Kind of a file with entries."""

    RANGE = "range"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class EntryFile:
    """Range, or large run of an index."""

    id: str
    kind: EntryFileKind
    entries: int
    """Number of entries, or of entries and removals."""


def uncached(stores: Stores, repo: RepositoryRecord) -> Blobs:
    """Return the storage namespace of a repository without the caches of this process. An object that cannot be read is
    damage.
    """
    blobs = stores.blobs.at(repo.storage_namespace)
    return ExaminedBlobs(blobs.beneath if isinstance(blobs, CachedBlobs) else blobs)


def read_entries(blobs: Blobs, file: EntryFile, columns: pa.Schema, *, inline: bool = False) -> pa.Table:
    """Return columns of the entries of a file that name an object, or of all entries.

    Args:
        blobs: Storage namespace of the repository.
        file: The file.
        columns: Columns of `ENTRY_SCHEMA`, in its order. Other columns are not read.
        inline: Also return entries that contain their content.

    Raises:
        CorruptData: The file is missing or damaged, or cannot be read.
    """
    schema = ENTRY_SCHEMA if file.kind is EntryFileKind.RANGE else RECORD_SCHEMA
    found = segment_format.decode(read_item(blobs, file.id), schema, address(file.id), columns.names)
    return with_address(found, columns, inline=inline)


def read_item(blobs: Blobs, id: str) -> bytes:
    """Return the content of a node, range or run.

    Raises:
        CorruptData: The file is missing or cannot be read.
    """
    try:
        return blobs.read(address(id))
    except NotFound as e:
        raise CorruptData(f"{address(id)}: is missing", kind=Kind.CorruptMetarange, id=id) from e


def with_address(table: pa.Table, columns: pa.Schema, *, inline: bool) -> pa.Table:
    """Return columns of the rows that have an address, or of all entries."""
    told = "address_type" if inline else "address"  # null in removals
    column, wanted = table.column(told), table.select(columns.names)
    return wanted.filter(pc.is_valid(column)) if column.null_count else wanted
