"""Addresses of condemned objects, as sorted files in the storage namespace. The collection record lists the files.

_graveler/collections/<id>/<number>.parquet     address, size
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.collection import AddressFile, CondemnedSet
from graveler_core.segments import format as segment_format

FILE_ROWS = 131_072
"""Maximum number of addresses in a file."""
PREFIX = "_graveler/collections/"
"""Prefix of the files of all sets."""
ADDRESSES = pa.schema([pa.field("address", pa.string(), nullable=False), pa.field("size", pa.int64(), nullable=False)])
"""Columns of a file, sorted by address as UTF-8."""


def write(blobs: Blobs, id: str, objects: pa.Table) -> tuple[AddressFile, ...]:
    """Write the files of a set under an id that no other call uses.

    Args:
        blobs: Storage namespace of the repository.
        id: Id of the set.
        objects: Table in `ADDRESSES`, sorted by address.

    Returns:
        The files, in order.
    """
    files = []
    for start in range(0, objects.num_rows, FILE_ROWS):
        rows = objects.slice(start, FILE_ROWS).combine_chunks()
        name = f"{start // FILE_ROWS:06d}.parquet"
        blobs.create(_address(id, name), segment_format.encode(rows))
        found = rows.column("address")
        files.append(AddressFile(name=name, first=found[0].as_py(), last=found[-1].as_py(), count=rows.num_rows))
    return tuple(files)


def read(blobs: Blobs, condemned: CondemnedSet) -> Iterator[pa.Table]:
    """Yield the tables of a set, file by file.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    return (_read(blobs, condemned, file) for file in condemned.files)


def among(blobs: Blobs, condemned: CondemnedSet, addresses: pa.Array) -> pa.Array:
    """Return those of some addresses that belong to a set.

    Args:
        blobs: Storage namespace of the repository.
        condemned: The set.
        addresses: Addresses relative to the namespace, in any order.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    found = [pa.array([], pa.string())]
    for file in condemned.files:
        inside = pc.and_(pc.greater_equal(addresses, file.first), pc.less_equal(addresses, file.last))
        asked = addresses.filter(inside)
        if len(asked):
            known = _read(blobs, condemned, file).column("address")
            found.append(asked.filter(pc.is_in(asked, value_set=known)))
    return pa.concat_arrays(found)


def set_of(address: str) -> str:
    """Return the id of the set to which a file below `PREFIX` belongs."""
    return address.removeprefix(PREFIX).split("/")[0]


def _read(blobs: Blobs, condemned: CondemnedSet, file: AddressFile) -> pa.Table:
    name = _address(condemned.id, file.name)
    try:
        data = blobs.read(name)
    except NotFound as e:
        raise CorruptData(f"{name}: is missing, but the collection record lists it", name=name) from e
    return segment_format.decode(data, ADDRESSES, name)


def _address(id: str, name: str) -> str:
    return f"{PREFIX}{id}/{name}"
