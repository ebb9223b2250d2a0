"""What is stored for a repository, named or not: one listing of the namespace, one scan of the objects.

In memory is some 250 bytes a blob and 250 an object, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData
from graveler_core.kv.store import Store
from graveler_core.model.entities import Repository
from graveler_core.model.ids import ObjectId
from graveler_core.objects.objects import decode_object
from graveler_core.records import layout as keys

CONTENT = "_graveler/"
"""All that graveler itself keeps in a namespace; users' objects are elsewhere."""
STAGING = "_graveler/staging/"
Progress = Callable[[int], object]
"""Told how many more things were looked at."""
_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a thing from a listing or a scan."""

    size: int
    """Bytes."""
    needed: datetime | None
    """When somebody who needed it wrote or renewed it last; None for an object that is not what its id says."""


@dataclass(slots=True)
class Stock:
    """What there was when it was taken."""

    blobs: dict[bytes, Stored] = field(default_factory=dict)
    """Nodes, ranges and large runs by their ids, 32 bytes each."""
    objects: dict[bytes, Stored] = field(default_factory=dict)
    """Small runs by their ids."""
    staged: dict[str, Stored] = field(default_factory=dict)
    """Files of layers by layer: bytes of all, and when the last of them was written."""
    foreign: dict[str, int] = field(default_factory=dict)
    """What else lies there: bytes by address."""


def take_stock(kv: Store, blobs: Blobs, repo: Repository, progress: Progress) -> Stock:
    """List and scan. Objects are hashed, as a scan reads them anyway; blobs are not read."""
    stock = Stock()
    for blob in blobs.list(CONTENT):
        name = blob.address.removeprefix(CONTENT)
        if _ID.fullmatch(name):
            stock.blobs[bytes.fromhex(name)] = Stored(blob.size, blob.mtime)
        elif blob.address.startswith(STAGING):
            layer = blob.address.removeprefix(STAGING).split("/")[0]
            held = stock.staged.get(layer, Stored(0, blob.mtime))
            stock.staged[layer] = Stored(held.size + blob.size, max(held.needed or blob.mtime, blob.mtime))
        else:
            stock.foreign[blob.address] = blob.size
        progress(1)
    for partition in keys.object_partitions(repo):
        for row in kv.scan(partition, prefix=keys.OBJECTS):
            name = row.key.removeprefix(keys.OBJECTS).decode(errors="replace")
            if _ID.fullmatch(name):
                stock.objects[bytes.fromhex(name)] = Stored(len(row.value), _needed(row.value, ObjectId(name)))
            progress(1)
    return stock


def _needed(value: bytes, id: ObjectId) -> datetime | None:
    try:
        return decode_object(value, id)[1]
    except CorruptData:
        return None
