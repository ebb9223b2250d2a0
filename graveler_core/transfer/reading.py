"""The rows of a dump, checked as they are read: frames by their checksums, kinds by their order, all by the end."""

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
    Kind,
    RowDigest,
    checksum,
)

Progress = Callable[[int, int], object]
"""Told how much is done, and of how much."""


class Row(NamedTuple):
    """A row of a dump."""

    kind: Kind
    data: bytes
    at: int
    """Where its frame begins: bytes from the file's beginning."""


def rows(file: DumpFile, progress: Progress = lambda done, total: None) -> Iterator[Row]:
    """All rows up to the end, which is the last one given and has been compared with the others.

    Args:
        progress: Told of bytes.

    Raises:
        CorruptData: (`CorruptDump`) it is no whole dump in a version and of kinds that this library reads.
    """
    pieces, seen, last, ends = Pieces(file), RowDigest(), 0, 0
    if pieces.take(len(MAGIC)) != MAGIC:
        raise file.corrupt(0, "this is no dump")
    version = pieces.take(1)
    if version != bytes((VERSION,)):
        raise file.corrupt(len(MAGIC), f"format version {version.hex() or 'missing'} is not known here")
    while last != Kind.END:
        at = pieces.at
        kind, plain = _frame(file, pieces)
        if kind < last or (not last and kind is not Kind.REPOSITORY):
            raise file.corrupt(at, f"{kind.name} stands at the wrong place")
        last = kind
        for data in _split(file, at, plain):
            if kind is Kind.END:
                _check_end(file, at, data, seen.end())
                ends += 1
            else:
                seen.add(kind, data)
            yield Row(kind, data, at)
        progress(pieces.at, pieces.size)
    if ends != 1 or pieces.take(1):
        raise file.corrupt(pieces.at - 1, "something follows the end")


def _frame(file: DumpFile, pieces: Pieces) -> tuple[Kind, bytes]:
    """The next frame's kind and its rows, unpacked."""
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
    if kind not in tuple(Kind):
        raise file.corrupt(at, f"rows of kind {kind} are not known here: a later version made this dump")
    try:
        plain = pa.decompress(stored, decompressed_size=unpacked_bytes, codec=PACKING, asbytes=True)
    except (OSError, ValueError) as e:
        raise file.corrupt(at, "cannot be unpacked") from e
    return Kind(kind), plain


def _split(file: DumpFile, at: int, plain: bytes) -> Iterator[bytes]:
    start = 0
    if not plain:
        raise file.corrupt(at, "holds no rows")
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
        raise file.corrupt(at, f"its end counts {end.rows}, there are {found.rows}")
    if end.digest != found.digest:
        raise file.corrupt(at, "its rows are not those that its end was written for")
    if found.rows[Kind.REPOSITORY.name] != 1:
        raise file.corrupt(at, "must be of one repository")
