"""Condemned and deleted objects, as sorted files in the storage namespace. The collection record lists the files.

_graveler/collections/<id>/<number>.parquet     address, size, reason
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.model.collection import CondemnedSet, SortedFile
from graveler_core.objects import sorted_files

PREFIX = "_graveler/collections/"
"""Prefix of the files of all sets."""
ADDRESSES = pa.schema([pa.field("address", pa.string(), nullable=False), pa.field("size", pa.int64(), nullable=False)])
"""Columns of a listing of objects, sorted by address as UTF-8."""
CONDEMNED = ADDRESSES.append(pa.field("reason", pa.string(), nullable=False))
"""Columns of a file, sorted by address as UTF-8. The reason is a value of `Reason`."""


def write(blobs: Blobs, id: str, objects: pa.Table) -> tuple[SortedFile, ...]:
    """Write the files of a set under an id that no other call uses.

    Args:
        blobs: Storage namespace of the repository.
        id: Id of the set.
        objects: Table in `CONDEMNED`, sorted by address.

    Returns:
        The files, in order.
    """
    return sorted_files.write(blobs, f"{PREFIX}{id}/", objects)


def read(blobs: Blobs, condemned: CondemnedSet) -> Iterator[pa.Table]:
    """Yield the tables of a set, file by file.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    return sorted_files.read(blobs, f"{PREFIX}{condemned.id}/", condemned.files, CONDEMNED)


def addresses(condemned: CondemnedSet) -> list[str]:
    """Return the addresses of the files of a set."""
    return [f"{PREFIX}{condemned.id}/{file.name}" for file in condemned.files]


def among(blobs: Blobs, condemned: CondemnedSet, addresses: pa.Array) -> pa.ChunkedArray:
    """Return those of some addresses that belong to a set.

    Args:
        blobs: Storage namespace of the repository.
        condemned: The set.
        addresses: Addresses relative to the namespace, in any order.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    folder = f"{PREFIX}{condemned.id}/"
    return sorted_files.among(blobs, folder, condemned.files, CONDEMNED, addresses).column("address")
