"""Immutable objects in the key-value store, named by the hash of their bytes. Source: seed 002.

    version u8 · referenced at: i64, microseconds from 1970, little-endian · bytes

A flow that is about to refer to an object writes it with the current time, even if it exists. A sweep deletes an
unreferenced object only if this time is long past, and only in exactly the state that it has read. It therefore never
deletes an object to which a flow is about to refer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graveler_core.codec.content_hash import hex_id
from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.entities import RepositoryRecord
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
    """Objects of one repository."""

    kv: Store
    repository: RepositoryRecord
    clock: Clock

    def read(self, id: ObjectId) -> bytes:
        """Read the bytes of an object.

        Raises:
            CorruptData: The object is missing, or does not match its id.
        """
        stored = self.kv.get(*keys.stored_object(self.repository, id))
        if stored is None:
            raise _corrupt(id, "is missing")
        return decode_object(stored.value, id)[0]

    def prepare(self, data: bytes) -> tuple[ObjectId, Write]:
        """Return the id of bytes, and the write that stores them. The write is harmless if they are stored already."""
        id = ObjectId(hex_id(data))
        return id, (*keys.stored_object(self.repository, id), encode_object(data, self.clock.now()))


def encode_object(data: bytes, referenced_at: datetime) -> bytes:
    """Return the stored value of an object."""
    return _HEAD.pack(VERSION, (referenced_at - _EPOCH) // _MICROSECOND) + data


def decode_object(value: bytes, id: ObjectId) -> tuple[bytes, datetime]:
    """Decode an object. Return its bytes and the time of its last write.

    Raises:
        CorruptData: The object does not match its id.
    """
    data = value[_HEAD.size :]
    if value[:1] != bytes((VERSION,)):
        raise _corrupt(id, f"has format version {value[:1].hex() or 'none'}, known is {VERSION}")
    if len(value) < _HEAD.size or hex_id(data) != id:
        raise _corrupt(id, "does not match its id")
    try:
        return data, _EPOCH + _HEAD.unpack_from(value)[1] * _MICROSECOND
    except OverflowError as e:
        raise _corrupt(id, "has an invalid time of its last reference") from e


def _corrupt(id: ObjectId, why: str) -> CorruptData:
    return CorruptData(f"object {id}: {why}", kind=Kind.CorruptObject, object=id)
