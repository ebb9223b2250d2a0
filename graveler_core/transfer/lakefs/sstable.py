"""Reader of sorted string tables: the files in which lakeFS keeps its ranges and metaranges.

The format is the block-based table of RocksDB, which Pebble writes too:

    data blocks · index blocks · properties · metaindex · footer

    footer      checksum kind u8 · handle of the metaindex · handle of the index · padding · version u32 · magic u64
                (tables of LevelDB: without kind and version)
    handle      offset varint · size varint
    block       content, perhaps compressed · compression u8 · masked CRC-32C of both u32
    content     entries · positions of the entries with a full key, u32 each · their number u32
    entry       bytes shared with the last key varint · further bytes varint · length of value varint · key · value
    key         user key · sequence number and kind, 8 bytes

An index has an entry for each block below it: a key that is not before the block's last one, and the block's handle. A
large index has two levels. The properties say which. lakeFS compresses with Snappy and writes each key once.

A table comes from a bucket, so nothing in it is trusted: every position is checked, every block has a checksum, and the
size of an uncompressed block is limited by the size of the compressed one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import google_crc32c
import pyarrow as pa

from graveler_core.errors import CorruptData, Kind
from graveler_core.transfer.varints import unsigned

ROCKSDB_MAGIC = 0x88E241B785F4CFF7
LEVELDB_MAGIC = 0xDB4775248B80FB57
PROPERTIES = b"rocksdb.properties"
INDEX_TYPE = b"rocksdb.block.based.table.index.type"
TWO_LEVELS = struct.pack("<I", 2)
MAX_EXPANSION = 64
"""Limit of the uncompressed size of a block by the compressed size. A copy in Snappy makes at most 64 bytes of two."""
_NO_COMPRESSION, _SNAPPY = 0, 1
_CRC32C = 1
_SET = 1
_TRAILER, _KEY_TRAILER = 5, 8
_ROCKSDB_FOOTER, _LEVELDB_FOOTER = 53, 48
_VERSIONS = range(6)
_codec = pa.Codec("snappy")

Pair = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Handle:
    offset: int
    size: int


class MalformedTableError(Exception):
    """Violated rule of the format."""


class SortedTable:
    """A sorted string table in memory.

    Args:
        data: The file.
        name: Name of the file in error messages.

    Raises:
        CorruptData: (`CorruptRange`) The footer, the properties or the index is damaged, or has an unknown form.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        try:
            metaindex, self._index = _footer(data)
            self.properties = self._properties(metaindex)
        except MalformedTableError as e:
            raise self._corrupt(e) from e

    def __iter__(self) -> Iterator[Pair]:
        """Yield keys and values, in ascending order of the keys.

        Raises:
            CorruptData: (`CorruptRange`) A block is damaged, or keys are out of order.
        """
        before: bytes | None = None
        try:
            for handle in self._blocks():
                for internal, value in _entries(self._block(handle)):
                    key = _user_key(internal)
                    if before is not None and key <= before:
                        raise MalformedTableError(f"key {key!r} is out of order")
                    before = key
                    yield key, value
        except MalformedTableError as e:
            raise self._corrupt(e) from e

    def _blocks(self) -> Iterator[_Handle]:
        levels = 2 if self.properties.get(INDEX_TYPE) == TWO_LEVELS else 1
        handles = [self._index]
        for _ in range(levels):
            handles = [_handle(value, 0)[0] for at in handles for _, value in _entries(self._block(at))]
        yield from handles

    def _properties(self, metaindex: _Handle) -> dict[bytes, bytes]:
        for name, value in _entries(self._block(metaindex)):
            if name == PROPERTIES:
                return dict(_entries(self._block(_handle(value, 0)[0])))
        return {}

    def _block(self, handle: _Handle) -> bytes:
        """Return the content of a block."""
        end = handle.offset + handle.size
        if end + _TRAILER > len(self._data):
            raise MalformedTableError(f"a block ends at byte {end + _TRAILER}, after the end of the file")
        stored = self._data[handle.offset : end + 1]
        (checksum,) = struct.unpack_from("<I", self._data, end + 1)
        if checksum != _masked(google_crc32c.value(stored)):
            raise MalformedTableError(f"the block at byte {handle.offset} does not match its checksum")
        return _uncompressed(stored[:-1], stored[-1], handle.offset)

    def _corrupt(self, why: MalformedTableError) -> CorruptData:
        return CorruptData(f"{self._name} is not a readable table: {why}", kind=Kind.CorruptRange, file=self._name)


def _footer(data: bytes) -> tuple[_Handle, _Handle]:
    """Return the handles of metaindex and index."""
    magic = int.from_bytes(data[-8:], "little") if len(data) >= _LEVELDB_FOOTER else 0
    if magic == ROCKSDB_MAGIC and len(data) >= _ROCKSDB_FOOTER:
        start = len(data) - _ROCKSDB_FOOTER + 1
        (version,) = struct.unpack_from("<I", data, len(data) - 12)
        if data[start - 1] != _CRC32C or version not in _VERSIONS:
            raise MalformedTableError(f"version {version} with checksums of kind {data[start - 1]} is unknown")
    elif magic == LEVELDB_MAGIC:
        start = len(data) - _LEVELDB_FOOTER
    else:
        raise MalformedTableError("it does not end as one does")
    metaindex, at = _handle(data, start)
    index, at = _handle(data, at)
    if at > start + 40:
        raise MalformedTableError("its footer is too long")
    return metaindex, index


def _handle(data: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = _number(data, at)
    size, at = _number(data, at)
    return _Handle(offset, size), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    try:
        return unsigned(data, at)
    except ValueError as e:
        raise MalformedTableError(str(e)) from e


def _uncompressed(stored: bytes, compression: int, offset: int) -> bytes:
    if compression == _NO_COMPRESSION:
        return stored
    if compression != _SNAPPY:
        raise MalformedTableError(f"the block at byte {offset} has the unknown compression {compression}")
    size, _ = _number(stored, 0)
    if size > MAX_EXPANSION * len(stored):
        raise MalformedTableError(f"the block at byte {offset} claims {size:,} bytes")
    try:
        return bytes(_codec.decompress(stored, decompressed_size=size, asbytes=True))
    except (OSError, pa.ArrowException) as e:
        raise MalformedTableError(f"the block at byte {offset} cannot be uncompressed") from e


def _entries(block: bytes) -> Iterator[Pair]:
    """Yield the keys, with their last 8 bytes if they have them, and the values of a block."""
    if len(block) < 4:
        raise MalformedTableError("a block has no end")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise MalformedTableError(f"a block has {restarts:,} restart points")
    key, at = b"", 0
    while at < end:
        shared, at = _number(block, at)
        further, at = _number(block, at)
        size, at = _number(block, at)
        through = at + further + size
        if shared > len(key) or through > end:
            raise MalformedTableError("an entry is longer than its block")
        key = key[:shared] + block[at : at + further]
        yield key, block[at + further : through]
        at = through


def _user_key(internal: bytes) -> bytes:
    if len(internal) < _KEY_TRAILER:
        raise MalformedTableError(f"key {internal!r} is too short")
    if internal[-_KEY_TRAILER] != _SET:
        raise MalformedTableError(f"the record of key {internal[:-_KEY_TRAILER]!r} does not set a value")
    return internal[:-_KEY_TRAILER]


def _masked(checksum: int) -> int:
    """Return a CRC as stored: rotated, so that the checksum of data that contain checksums is not weak."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
