"""Encoding of the layout of a commit. Format version 1.

    version u8 · index · number of superseded, varint · since i64, microseconds from 1970 · index … for each of them
            · checksum of all previous bytes: xxh3, 64 bits
    index   id of the metarange, 32 bytes · 1 if the first run is the commit's own, else 0
            · number of runs, varint · runs, newest first · length of the inline index, varint · inline index
    run     id, 32 bytes · place u8: 0 object, 1 blob · elements varint · size varint

Numbers are little-endian. A layout has exactly one encoding, and the decoder accepts no other. The content of the
inline index is not checked. As JSON, an index of a few kilobytes would be a third larger. Unlike a header, a layout has
no id that proves its content, so it has a checksum to detect damage.
"""

from __future__ import annotations

import struct

import xxhash

from graveler_core.codec.content_hash import DIGEST_BYTES
from graveler_core.codec.varint import decode_varint, encode_varint
from graveler_core.errors import CorruptData
from graveler_core.model import past
from graveler_core.model.counting import counted
from graveler_core.model.entities import Layout, Superseded
from graveler_core.model.ids import MetarangeId, ObjectId
from graveler_core.model.index import Index, Run, RunLocation

VERSION = 1
_SINCE = struct.Struct("<q")
_CHECKSUM_BYTES = 8


def encode_layout(layout: Layout) -> bytes:
    """Return the canonical bytes of a layout."""
    parts = [bytes((VERSION,))]
    _put_index(parts, layout.index)
    parts.append(encode_varint(len(layout.superseded)))
    for one in layout.superseded:
        parts.append(_SINCE.pack(past.microseconds(one.since)))
        _put_index(parts, one.index)
    data = b"".join(parts)
    return data + _checksum(data)


def decode_layout(data: bytes, name: str) -> Layout:
    """Decode a layout.

    Args:
        data: Result of `encode_layout`.
        name: Name of the layout in error messages.

    Raises:
        CorruptData: The bytes are not a result of `encode_layout`.
    """
    if data[:1] != bytes((VERSION,)):
        raise CorruptData(f"{name}: format version {data[:1].hex() or 'missing'} is not supported", name=name)
    data, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if checksum != _checksum(data):
        raise CorruptData(f"{name}: is cut off or damaged", name=name)
    try:
        index, at = _index(data, 1)
        count, at = decode_varint(data, at)
        superseded = []
        for _ in range(count):
            (since,) = _SINCE.unpack_from(data, at)
            replaced, at = _index(data, at + _SINCE.size)
            superseded.append(Superseded(index=replaced, since=past.moment(since)))
        if at != len(data):
            raise ValueError(f"ends at {at}, has {counted(len(data), 'byte')}")
    except (LookupError, ValueError, OverflowError, struct.error) as e:
        raise CorruptData(f"{name}: is malformed: {e}", name=name) from e
    return Layout(index=index, superseded=tuple(superseded))


def _checksum(data: bytes) -> bytes:
    return xxhash.xxh3_64_intdigest(data).to_bytes(_CHECKSUM_BYTES, "little")


def _put_index(parts: list[bytes], index: Index) -> None:
    parts += (bytes.fromhex(index.metarange_id), bytes((index.own_run,)), encode_varint(len(index.runs)))
    for run in index.runs:
        numbers = bytes((run.place,)), encode_varint(run.elements), encode_varint(run.size)
        parts += (bytes.fromhex(run.id), *numbers)
    parts += (encode_varint(len(index.inline)), index.inline)


def _index(data: bytes, at: int) -> tuple[Index, int]:
    """Decode the index that begins at `at`. Return it and its end."""
    metarange, at = _id(data, at)
    own_run = data[at]
    count, at = decode_varint(data, at + 1)
    runs = []
    for _ in range(count):
        run, at = _run(data, at)
        runs.append(run)
    length, at = decode_varint(data, at)
    inline = data[at : at + length]
    if len(inline) != length or own_run > min(count, 1):
        raise ValueError("inline index or own run is missing")
    index = Index(metarange_id=MetarangeId(metarange), runs=tuple(runs), inline=inline, own_run=bool(own_run))
    return index, at + length


def _run(data: bytes, at: int) -> tuple[Run, int]:
    id, at = _id(data, at)
    place = RunLocation(data[at])
    elements, at = decode_varint(data, at + 1)
    size, at = decode_varint(data, at)
    return Run(id=ObjectId(id), place=place, elements=elements, size=size), at


def _id(data: bytes, at: int) -> tuple[str, int]:
    end = at + DIGEST_BYTES
    if end > len(data):
        raise ValueError(f"an id at {at} is cut off")
    return data[at:end].hex(), end
