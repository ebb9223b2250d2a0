"""The bytes behind an entry."""

from __future__ import annotations

from graveler_core.errors import CorruptData
from graveler_core.model.address import parted
from graveler_core.model.entities import Repository
from graveler_core.model.entry import AddressType, Entry
from graveler_core.stores import Stores


def read_content(stores: Stores, repo: Repository, entry: Entry) -> bytes:
    """The whole object.

    Raises:
        NotFound: (`ObjectNotFound`) the object is gone from the object store.
        CorruptData: an inline entry without its data.
    """
    if entry.address_type is AddressType.INLINE:
        if entry.data is None:
            raise CorruptData(f"entry {entry.path!r}: is inline and has no data", path=entry.path)
        return entry.data
    if entry.address is None:
        raise CorruptData(f"entry {entry.path!r}: has no address", path=entry.path)
    if entry.address_type is AddressType.RELATIVE:
        return stores.blobs.at(repo.storage_namespace).read(entry.address)
    place, key = parted(entry.address)
    return stores.blobs.foreign(place).read(key)
