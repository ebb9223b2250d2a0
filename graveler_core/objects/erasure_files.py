"""Files in a storage namespace that name its erased content. A restoration of an older dump obeys them.

_graveler/erasures/<id>.parquet    address
_graveler/erasures/<id>.json       Erasure, written after the addresses

The records in the key-value store decide. A dump contains the records of its time, and no content. If it is restored
in the namespace after a later erasure, these files say that the missing content is erased.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.codec.records import decode, encode
from graveler_core.model.erasure import Erasure
from graveler_core.segments import format as segment_format

PREFIX = "_graveler/erasures/"
_ADDRESSES = pa.schema([pa.field("address", pa.string(), nullable=False)])


def write(blobs: Blobs, erasure: Erasure, addresses: Sequence[str]) -> None:
    """Write the files of an erasure, unless they exist."""
    table = pa.table([pa.array(sorted(addresses), pa.string())], schema=_ADDRESSES)
    blobs.create(f"{PREFIX}{erasure.id}.parquet", segment_format.encode(table))
    blobs.create(f"{PREFIX}{erasure.id}.json", encode(erasure))


def erasure_of(address: str) -> str:
    """Return the id of the erasure to which a file belongs, or "" for other files."""
    name, _, suffix = address.removeprefix(PREFIX).rpartition(".")
    return name if address.startswith(PREFIX) and suffix in ("json", "parquet") else ""


def read(blobs: Blobs) -> Iterator[tuple[Erasure, list[str]]]:
    """Yield the erasures in a namespace, oldest first, with their addresses.

    Raises:
        CorruptData: A file is damaged.
        NotFound: A file was deleted in the meantime.
    """
    for blob in blobs.list(PREFIX):
        if blob.address.endswith(".json"):
            addresses = blob.address.removesuffix(".json") + ".parquet"
            table = segment_format.decode(blobs.read(addresses), _ADDRESSES, addresses)
            yield decode(Erasure, blobs.read(blob.address), blob.address), table.column("address").to_pylist()
