"""Rows of a dump, checked while they are read: checksums of frames, order of kinds, and the digest at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from graveler_core.codec.records import decode
from graveler_core.codec.varint import decode_varint
from graveler_core.errors import CorruptData
from graveler_core.model.dump import DumpEnd
from graveler_core.transfer.files import DumpFile, Pieces
from graveler_core.transfer.format import (
    CHECKED,
    HEAD,
    MAGIC,
    MAX_FRAME_BYTES,
    PACKING,
    VERSION,
    RowDigest,
    RowKind,
    checksum,
)

Progress = Callable[[int, int], object]
"""Function that is called with the amount that is done, and the total amount."""


class DumpRow(NamedTuple):
    """A row of a dump."""

    kind: RowKind
    data: bytes
    at: int
    """Offset of the frame in the file, in bytes."""


def rows(file: DumpFile, progress: Progress = lambda done, total: None) -> Iterator[DumpRow]:
    """Yield all rows of a dump. The last one is the end record, which was compared with the other rows.

    Args:
        file: The dump.
        progress: Called with the number of bytes that were read, and the total number.

    Raises:
        CorruptData: (`CorruptDump`) The file is not a complete dump, or has an unknown version or kind of rows.
    """
    pieces, seen, last, ends = Pieces(file), RowDigest(), 0, 0
    if pieces.take(len(MAGIC)) != MAGIC:
        raise file.corrupt(0, "is not a dump")
    version = pieces.take(1)
    if version != bytes((VERSION,)):
        raise file.corrupt(len(MAGIC), f"format version {version.hex() or 'missing'} is unknown")
    while last != RowKind.END:
        at = pieces.at
        kind, plain = _frame(file, pieces)
        if kind < last or (not last and kind is not RowKind.REPOSITORY):
            raise file.corrupt(at, f"{kind.name} is out of order")
        last = kind
        for data in _split(file, at, plain):
            if kind is RowKind.END:
                _check_end(file, at, data, seen.end())
                ends += 1
            else:
                seen.add(kind, data)
            yield DumpRow(kind, data, at)
        progress(pieces.at, pieces.size)
    if ends != 1 or pieces.take(1):
        raise file.corrupt(pieces.at - 1, "data follows the end")


def _frame(file: DumpFile, pieces: Pieces) -> tuple[RowKind, bytes]:
    """Read the next frame. Return its kind and its unpacked rows."""
    at = pieces.at
    head = pieces.take(HEAD.size)
    if len(head) < HEAD.size:
        raise file.corrupt(at, "is cut off")
    kind, stored_bytes, unpacked_bytes, expected = HEAD.unpack(head)
    if max(stored_bytes, unpacked_bytes) > MAX_FRAME_BYTES:
        raise file.corrupt(at, "is damaged")
    stored = pieces.take(stored_bytes)
    if len(stored) < stored_bytes:
        raise file.corrupt(at, "is cut off")
    if checksum(head[:CHECKED], stored) != expected:
        raise file.corrupt(at, "is damaged")
    if kind not in tuple(RowKind):
        raise file.corrupt(at, f"rows of kind {kind} are unknown: a later version wrote this dump")
    try:
        plain = pa.decompress(stored, decompressed_size=unpacked_bytes, codec=PACKING, asbytes=True)
    except (OSError, ValueError) as e:
        raise file.corrupt(at, "cannot be unpacked") from e
    return RowKind(kind), plain


def _split(file: DumpFile, at: int, plain: bytes) -> Iterator[bytes]:
    start = 0
    if not plain:
        raise file.corrupt(at, "contains no rows")
    while start < len(plain):
        try:
            length, start = decode_varint(plain, start)
        except (IndexError, ValueError) as e:
            raise file.corrupt(at, "holds malformed rows") from e
        if start + length > len(plain):
            raise file.corrupt(at, "holds malformed rows")
        yield plain[start : start + length]
        start += length


def _check_end(file: DumpFile, at: int, data: bytes, found: DumpEnd) -> None:
    try:
        end = decode(DumpEnd, data, "its end")
    except CorruptData as e:
        raise file.corrupt(at, e.message) from e
    if end.rows != found.rows:
        raise file.corrupt(at, f"its end counts {end.rows}, but it contains {found.rows}")
    if end.digest != found.digest:
        raise file.corrupt(at, "its rows do not match the digest at its end")
    if found.rows[RowKind.REPOSITORY.name] != 1:
        raise file.corrupt(at, "must contain exactly one repository")
