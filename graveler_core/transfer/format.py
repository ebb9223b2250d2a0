"""File format of dumps, version 1.

    magic, 14 bytes: "graveler dump\\n" · version u8 · frames; the last one is of kind END, and nothing follows it frame
    kind u8 · bytes stored u32 · bytes unpacked u32 · checksum u64: xxh3 of the 9 bytes before and of the stored bytes ·
    stored bytes: rows of the frame's kind, compressed with zstd row     length varint · bytes

Numbers are little-endian; varints are encoded by `codec.varint`. Kinds are in the order of their numbers. Rows of a
kind are in ascending order of their keys, without duplicates. A reader refuses an unknown kind.

| kind | row | key |
|---|---|---|
| 1 REPOSITORY, exactly one | `DumpedRepository` | |
| 2 SETTING | name · 0 · record | name |
| 3 LOG, at most one | id of the newest commit of the log of references, 32 bytes | the id |
| 4 BRANCH | `DumpedBranch` | name |
| 5 TAG | `Tag` | name |
| 6 EVENT | pending `ReferenceEvent` | its id |
| 7 FOREIGN | `ForeignCommit`, parents before children | |
| 8 COMMIT | header of a commit | its id: the hash of the row |
| 9 LAYOUT | id of the commit, 32 bytes · layout, without superseded indexes | the id |
| 10 LOG_COMMIT | header of a commit of the log, reachable from LOG | its id: the hash of the row |
| 11 LOG_LAYOUT | like LAYOUT, for a commit of the log | the id |
| 12 OBJECT | content of an object: a run | its id: the hash of the row |
| 13 ERASURE | `Erasure` | its id |
| 14 ERASED | `ErasedContent` of one of these erasures | hash of its address |
| 15 MIGRATED | id of a commit, 32 bytes · its id in the source of a migration, UTF-8 | the id in the source |
| 255 END, exactly one | `DumpEnd` | |

Records are encoded by `codec.records`, so ids can be checked against their rows. The digest covers kind u8, length u32
and unpacked bytes of each row before the end. It does not depend on frames and compression, so it identifies the
content of the dump. The same repository gives the same rows: a dump contains no time of the dump, no location and no
random value.
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
"""Number of bytes of a head that its checksum covers."""
PACKING = "zstd"
FRAME_BYTES = 1 << 20
"""Size of a frame, unpacked, after which it ends with the next row."""
MAX_FRAME_BYTES = 2 << 20
"""Maximum size of a frame that a reader accepts. No row is larger than a value of a store, 96 KiB."""


class RowKind(IntEnum):
    """Kind of the rows of a frame."""

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
    ERASURE = 13
    ERASED = 14
    MIGRATED = 15
    END = 255


class RowDigest:
    """Digest over rows, and their number by kind."""

    def __init__(self) -> None:
        self._hash = HASH()
        self.rows: Counter[str] = Counter()

    def add(self, kind: RowKind, row: bytes) -> None:
        self._hash.update(struct.pack("<BI", kind, len(row)) + row)
        self.rows[kind.name] += 1

    def end(self) -> DumpEnd:
        """Return the last record of a dump with the rows so far."""
        return DumpEnd(rows=dict(sorted(self.rows.items())), digest=self._hash.hexdigest())


class Sink(Protocol):
    """Target of a dump."""

    def write(self, data: bytes, /) -> object:
        """Append all bytes."""


class DumpWriter:
    """Writer of a dump, row by row. One frame is in memory.

    Args:
        file: Empty target. The caller must pass rows in the order of the format.
    """

    def __init__(self, file: Sink) -> None:
        self._file = file
        self._digest = RowDigest()
        self._kind = RowKind.REPOSITORY
        self._rows: list[bytes] = []
        self._held = 0
        file.write(MAGIC + bytes((VERSION,)))

    def row(self, kind: RowKind, row: bytes) -> None:
        """Append a row."""
        if kind != self._kind or self._held >= FRAME_BYTES:
            self._frame()
        self._kind = kind
        if kind is not RowKind.END:
            self._digest.add(kind, row)
        self._rows += (encode_varint(len(row)), row)
        self._held += len(row)

    def end(self) -> DumpEnd:
        """Finish the dump. The file stays open."""
        end = self._digest.end()
        self.row(RowKind.END, encode(end))
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
    """Return the head of a frame."""
    checked = struct.pack("<BII", kind, len(stored), unpacked)
    return checked + struct.pack("<Q", checksum(checked, stored))


def checksum(checked: bytes, stored: bytes) -> int:
    """Return the checksum of a frame, over the checked part of its head and its stored bytes."""
    return xxhash.xxh3_64_intdigest(checked + stored)
