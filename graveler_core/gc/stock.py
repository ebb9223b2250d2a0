"""What is stored for a repository, named or not: one listing of the namespace, one scan of the objects.

In memory is some 250 bytes a blob and 150 an object, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.blobs.port import Blobs
from graveler_core.codec.content_hash import hex_id
from graveler_core.kv.store import Store
from graveler_core.model.entities import Repository
from graveler_core.records import layout as keys

CONTENT = "_graveler/"
"""All that graveler itself keeps in a namespace; users' objects are elsewhere."""
STAGING = "_graveler/staging/"
Progress = Callable[[int], object]
"""Told how many more things were looked at."""
_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Blob:
    """What a listing says of a blob."""

    size: int
    mtime: datetime


@dataclass(slots=True)
class Stock:
    """What there was when it was taken."""

    blobs: dict[bytes, Blob] = field(default_factory=dict)
    """Nodes, ranges and large runs by their ids, 32 bytes each."""
    objects: dict[bytes, int] = field(default_factory=dict)
    """Small runs: size by id."""
    damaged: set[bytes] = field(default_factory=set)
    """Objects that are not what their ids say."""
    staged: dict[str, int] = field(default_factory=dict)
    """Files of layers: bytes by layer."""
    foreign: dict[str, int] = field(default_factory=dict)
    """What else lies there: bytes by address."""


def take_stock(kv: Store, blobs: Blobs, repo: Repository, progress: Progress) -> Stock:
    """List and scan. Objects are hashed, as a scan reads them anyway; blobs are not read."""
    stock = Stock()
    for blob in blobs.list(CONTENT):
        name = blob.address.removeprefix(CONTENT)
        if _ID.fullmatch(name):
            stock.blobs[bytes.fromhex(name)] = Blob(blob.size, blob.mtime)
        elif blob.address.startswith(STAGING):
            layer = blob.address.removeprefix(STAGING).split("/")[0]
            stock.staged[layer] = stock.staged.get(layer, 0) + blob.size
        else:
            stock.foreign[blob.address] = blob.size
        progress(1)
    for partition in keys.object_partitions(repo):
        for row in kv.scan(partition, prefix=keys.OBJECTS):
            name = row.key.removeprefix(keys.OBJECTS).decode(errors="replace")
            if _ID.fullmatch(name):
                id = bytes.fromhex(name)
                stock.objects[id] = len(row.value)
                if hex_id(row.value) != name:
                    stock.damaged.add(id)
            progress(1)
    return stock
