"""A writer of small tables, to write what no writer of lakeFS writes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import google_crc32c
import pyarrow as pa

from graveler_core.transfer.lakefs.messages import RangeMessage
from graveler_core.transfer.lakefs.sstable import ROCKSDB_MAGIC

SET = 1


def varint(number: int) -> bytes:
    septets = bytearray()
    while number > 127:
        septets.append(number & 127 | 128)
        number >>= 7
    return bytes((*septets, number))


def value(identity: bytes, data: bytes) -> bytes:
    """A value of lakeFS."""
    return varint(2 * len(identity)) + identity + varint(2 * len(data)) + data


def described(id: str, first: bytes, last: bytes, count: int) -> tuple[bytes, bytes]:
    """An entry of a metarange."""
    return last, value(id.encode(), RangeMessage(min_key=first, max_key=last, count=count).SerializeToString())


def block(entries: Sequence[tuple[bytes, bytes]], every: int = 4) -> bytes:
    """A block, with a full key every so many entries."""
    made, restarts, before = bytearray(), [], b""
    for number, (key, text) in enumerate(entries):
        shared = 0
        if number % every == 0:
            restarts.append(len(made))
        else:
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
        made += varint(shared) + varint(len(key) - shared) + varint(len(text)) + key[shared:] + text
        before = key
    return bytes(made) + b"".join(struct.pack("<I", at) for at in (*restarts, len(restarts)))


def table(entries: Sequence[tuple[bytes, bytes]], *, kind: int = SET, compression: int = 0, most: int = 5) -> bytes:
    """A table with blocks of at most so many entries. Keys get the trailer of RocksDB."""
    file, index = bytearray(), []
    internal = [(key + struct.pack("<Q", kind), text) for key, text in entries]
    for start in range(0, len(internal), most):
        part = internal[start : start + most]
        index.append((part[-1][0], stored(file, block(part), compression)))
    at = stored(file, block(index), compression)
    metaindex = stored(file, block([]), 0)
    return bytes(file) + footer(metaindex, at)


def stored(file: bytearray, content: bytes, compression: int) -> bytes:
    """Append a block. Returns its handle."""
    if compression == 1:
        content = pa.Codec("snappy").compress(content, asbytes=True)
    handle = varint(len(file)) + varint(len(content))
    file += sealed(content, compression)
    return handle


def sealed(content: bytes, compression: int) -> bytes:
    """A block with compression and checksum."""
    whole = content + bytes((compression,))
    crc = google_crc32c.value(whole)
    return whole + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def footer(metaindex: bytes, index: bytes) -> bytes:
    """The end of a table."""
    return b"\x01" + (metaindex + index).ljust(40, b"\0") + struct.pack("<IQ", 2, ROCKSDB_MAGIC)
