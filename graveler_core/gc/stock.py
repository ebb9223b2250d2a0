"""Stored items of a repository, reachable or not: one listing of the namespace, and one scan of the objects.

Memory holds about 250 bytes for each blob and for each object, independent of their size.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import ObjectId, RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.objects.objects import decode_object
from graveler_core.records import layout as keys

CONTENT = "_graveler/"
"""Prefix of the files that graveler itself stores in a namespace. Objects of users are elsewhere."""
STAGING = "_graveler/staging/"
Progress = Callable[[int], object]
"""Function that is called with the number of items examined since the last call."""
_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StoredItem:
    """Properties of a stored item from a listing or a scan."""

    size: int
    """Size in bytes."""
    needed: datetime | None
    """Time of the last write or renewal; `None` for an object that does not match its id."""


@dataclass(slots=True)
class Stock:
    """Stored items at the time of the listing."""

    blobs: dict[bytes, StoredItem] = field(default_factory=dict)
    """Nodes, ranges and large runs, by id of 32 bytes."""
    objects: dict[bytes, StoredItem] = field(default_factory=dict)
    """Small runs, by id."""
    staged: dict[str, StoredItem] = field(default_factory=dict)
    """Files of layers, by layer: their total size, and the time of the last write."""
    owners: set[RepositoryUid] = field(default_factory=set)
    """Repositories that have an owner file."""
    foreign: dict[str, int] = field(default_factory=dict)
    """Other files in the namespace: size in bytes by address."""


def take_stock(kv: Store, blobs: Blobs, repo: RepositoryRecord, progress: Progress) -> Stock:
    """List the namespace and scan the objects. Objects are hashed, because the scan reads them; blobs are not read."""
    stock = Stock()
    for blob in blobs.list(CONTENT):
        name = blob.address.removeprefix(CONTENT)
        if _ID.fullmatch(name):
            stock.blobs[bytes.fromhex(name)] = StoredItem(blob.size, blob.mtime)
        elif blob.address.startswith(STAGING):
            layer = blob.address.removeprefix(STAGING).split("/")[0]
            held = stock.staged.get(layer, StoredItem(0, blob.mtime))
            stock.staged[layer] = StoredItem(held.size + blob.size, max(held.needed or blob.mtime, blob.mtime))
        elif blob.address.startswith(owner_files.PREFIX):
            stock.owners.add(RepositoryUid(blob.address.removeprefix(owner_files.PREFIX)))
        else:
            stock.foreign[blob.address] = blob.size
        progress(1)
    for partition in keys.object_partitions(repo):
        for row in kv.scan(partition, prefix=keys.OBJECTS):
            name = row.key.removeprefix(keys.OBJECTS).decode(errors="replace")
            if _ID.fullmatch(name):
                stock.objects[bytes.fromhex(name)] = StoredItem(len(row.value), _needed(row.value, ObjectId(name)))
            progress(1)
    return stock


def _needed(value: bytes, id: ObjectId) -> datetime | None:
    try:
        return decode_object(value, id)[1]
    except CorruptData:
        return None
