"""Immutable objects in the key-value store, known by the hash of their bytes. Source: seed 002."""

from __future__ import annotations

from dataclasses import dataclass

from graveler_core.codec.content_hash import hex_id
from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.entities import Repository
from graveler_core.model.ids import ObjectId
from graveler_core.records import layout as keys

Write = tuple[bytes, bytes, bytes]
"""Partition, key and value."""


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one repository."""

    kv: Store
    repository: Repository

    def read(self, id: ObjectId) -> bytes:
        """An object's bytes.

        Raises:
            CorruptData: it is missing, or not what its id says.
        """
        stored = self.kv.get(*keys.stored_object(self.repository, id))
        if stored is None or hex_id(stored.value) != id:
            what = "is missing" if stored is None else "is not what its id says"
            raise CorruptData(f"object {id}: {what}", kind=Kind.CorruptObject, object=id)
        return stored.value

    def prepare(self, data: bytes) -> tuple[ObjectId, Write]:
        """The id of some bytes, and the write that stores them: harmless where they are stored already."""
        id = ObjectId(hex_id(data))
        return id, (*keys.stored_object(self.repository, id), data)
