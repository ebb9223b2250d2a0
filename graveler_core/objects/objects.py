"""Immutable objects in the key-value store, known by the hash of their bytes. Source: seed 002.

    version u8 · referenced at: i64, microseconds from 1970, little-endian · bytes

Whoever is about to name an object writes it, whether it is there or not, with the time. So a sweep, which takes what
nothing names if that time is long past, and only in the state that it has seen, never takes what will be named.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graveler_core.codec.content_hash import hex_id
from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.entities import Repository
from graveler_core.model.ids import ObjectId
from graveler_core.records import layout as keys

Write = tuple[bytes, bytes, bytes]
"""Partition, key and value."""
VERSION = 1
_HEAD = struct.Struct("<Bq")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one repository."""

    kv: Store
    repository: Repository
    clock: Clock

    def read(self, id: ObjectId) -> bytes:
        """An object's bytes.

        Raises:
            CorruptData: it is missing, or not what its id says.
        """
        stored = self.kv.get(*keys.stored_object(self.repository, id))
        if stored is None:
            raise _corrupt(id, "is missing")
        return decode_object(stored.value, id)[0]

    def prepare(self, data: bytes) -> tuple[ObjectId, Write]:
        """The id of some bytes, and the write that stores them: harmless where they are stored already."""
        id = ObjectId(hex_id(data))
        return id, (*keys.stored_object(self.repository, id), encode_object(data, self.clock.now()))


def encode_object(data: bytes, referenced_at: datetime) -> bytes:
    """What the store keeps of an object."""
    return _HEAD.pack(VERSION, (referenced_at - _EPOCH) // _MICROSECOND) + data


def decode_object(value: bytes, id: ObjectId) -> tuple[bytes, datetime]:
    """An object's bytes, and when it was last written by somebody who needed it.

    Raises:
        CorruptData: it is not what its id says.
    """
    data = value[_HEAD.size :]
    if value[:1] != bytes((VERSION,)):
        raise _corrupt(id, f"has format version {value[:1].hex() or 'none'}, known is {VERSION}")
    if len(value) < _HEAD.size or hex_id(data) != id:
        raise _corrupt(id, "is not what its id says")
    try:
        return data, _EPOCH + _HEAD.unpack_from(value)[1] * _MICROSECOND
    except OverflowError as e:
        raise _corrupt(id, "was last needed at no time") from e


def _corrupt(id: ObjectId, why: str) -> CorruptData:
    return CorruptData(f"object {id}: {why}", kind=Kind.CorruptObject, object=id)
