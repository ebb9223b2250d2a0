"""The file of a dump. Format version 1.

    magic, 14 bytes: "graveler dump\\n" · version u8 · frames; the last one is of kind END, and nothing follows it
    frame   kind u8 · bytes stored u32 · bytes unpacked u32 · checksum u64: xxh3 of the 9 bytes before and of what is
            stored · what is stored: rows of the frame's kind, zstd
    row     length varint · bytes

Numbers are little-endian, varints are those of `codec.varint`. Kinds stand in the order of their numbers, rows of a
kind in ascending order of their keys, each once. A reader refuses a kind that it does not know.

| kind | row | key |
|---|---|---|
| 1 REPOSITORY, exactly one | `DumpedRepository` | |
| 2 SETTING | name · 0 · record | name |
| 3 LOG, one at most | id of the newest commit of the log of references, 32 bytes | the id |
| 4 BRANCH | `DumpedBranch` | name |
| 5 TAG | `Tag` | name |
| 6 EVENT | `ReferenceEvent` that waits to be logged | its id |
| 7 FOREIGN | `ForeignCommit`, parents before children | |
| 8 COMMIT | header of a commit | its id: the hash of the row |
| 9 LAYOUT | id of the commit, 32 bytes · layout, which names nothing superseded | the id |
| 10 LOG_COMMIT | header of a commit of the log, to which LOG leads | its id: the hash of the row |
| 11 LOG_LAYOUT | as LAYOUT, of a commit of the log | the id |
| 12 OBJECT | content of an object: a run | its id: the hash of the row |
| 255 END, exactly one | `DumpEnd` | |

Records are as `codec.records` encodes them, so ids prove themselves. The digest covers kind u8, length u32 and bytes of
each row before the end, unpacked: how rows are cut into frames and packed does not matter, so it names what was dumped.
The same repository gives the same rows: no time, no place and nothing by chance is in a dump.
"""

from __future__ import annotations

import struct
from collections import Counter
from enum import IntEnum
from typing import Protocol

import pyarrow as pa
import xxhash

from graveler_core.codec.content_hash import HASH
from graveler_core.codec.records import encode
from graveler_core.codec.varint import encode_varint
from graveler_core.model.dump import DumpEnd

MAGIC = b"graveler dump\n"
VERSION = 1
HEAD = struct.Struct("<BIIQ")
"""Kind, bytes stored, bytes unpacked, checksum."""
CHECKED = 9
"""Bytes of a head that its checksum covers."""
PACKING = "zstd"
FRAME_BYTES = 1 << 20
"""A frame ends with the row that reaches so many bytes, unpacked."""
MAX_FRAME_BYTES = 2 << 20
"""What a reader accepts of a frame: no row is larger than a value of a store, 96 KiB."""


class Kind(IntEnum):
    """What the rows of a frame are."""

    REPOSITORY = 1
    SETTING = 2
    LOG = 3
    BRANCH = 4
    TAG = 5
    EVENT = 6
    FOREIGN = 7
    COMMIT = 8
    LAYOUT = 9
    LOG_COMMIT = 10
    LOG_LAYOUT = 11
    OBJECT = 12
    END = 255


class RowDigest:
    """The digest over rows, and how many there were of each kind."""

    def __init__(self) -> None:
        self._hash = HASH()
        self.rows: Counter[str] = Counter()

    def add(self, kind: Kind, row: bytes) -> None:
        self._hash.update(struct.pack("<BI", kind, len(row)) + row)
        self.rows[kind.name] += 1

    def end(self) -> DumpEnd:
        """What closes a dump of the rows so far."""
        return DumpEnd(rows=dict(sorted(self.rows.items())), digest=self._hash.hexdigest())


class Sink(Protocol):
    """What a dump is written to."""

    def write(self, data: bytes, /) -> object:
        """Append bytes, all of them."""
        ...


class DumpWriter:
    """Writes a dump row by row. In memory is one frame.

    Args:
        file: Where to, with nothing in it yet. The caller gives rows in the order of the format.
    """

    def __init__(self, file: Sink) -> None:
        self._file = file
        self._digest = RowDigest()
        self._kind = Kind.REPOSITORY
        self._rows: list[bytes] = []
        self._held = 0
        file.write(MAGIC + bytes((VERSION,)))

    def row(self, kind: Kind, row: bytes) -> None:
        """Append a row."""
        if kind != self._kind or self._held >= FRAME_BYTES:
            self._frame()
        self._kind = kind
        if kind is not Kind.END:
            self._digest.add(kind, row)
        self._rows += (encode_varint(len(row)), row)
        self._held += len(row)

    def end(self) -> DumpEnd:
        """Close the dump; the file stays open."""
        end = self._digest.end()
        self.row(Kind.END, encode(end))
        self._frame()
        return end

    def _frame(self) -> None:
        if not self._rows:
            return
        plain = b"".join(self._rows)
        stored = pa.compress(plain, codec=PACKING, asbytes=True)
        self._file.write(head(self._kind, stored, len(plain)) + stored)
        self._rows.clear()
        self._held = 0


def head(kind: int, stored: bytes, unpacked: int) -> bytes:
    """The head of a frame."""
    checked = struct.pack("<BII", kind, len(stored), unpacked)
    return checked + struct.pack("<Q", checksum(checked, stored))


def checksum(checked: bytes, stored: bytes) -> int:
    """The checksum of a frame, of the checked part of its head and what it stores."""
    return xxhash.xxh3_64_intdigest(checked + stored)
