"""Metaranges and ranges of lakeFS, as they are in the storage namespace.

Both are tables (`sstable`) below `_lakefs/`, named by their ids. A range has the entries of consecutive paths. A
metarange has an entry for each range: the key is the last path of the range. The value of a table has two parts, each
after its length: an identity and data. In a range, the data are an entry; in a metarange, the identity is the id of the
range, and the data describe it.

References are dumped in the same form: metaranges whose entries are branches, tags and commits.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from google.protobuf.message import DecodeError

from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.transfer.lakefs.messages import RangeMessage
from graveler_core.transfer.lakefs.sstable import SortedTable
from graveler_core.transfer.varints import signed

FOLDER = "_lakefs/"
"""Folder of the storage namespace in which lakeFS keeps its own files."""
HELD_ENTRIES = 400_000
"""Number of entries of ranges that are held in memory, because the next commit often changes the same ranges."""
HELD_METARANGES = 16
"""Number of metaranges that are held in memory."""
_ID = re.compile(r"[0-9a-f]{1,128}")

Datum: TypeAlias = tuple[bytes, bytes]
"""Key and data of an entry."""
Change: TypeAlias = tuple[bytes, bytes | None, bytes | None]
"""Key, and the data of the entry before and after the change: `None` if there is none."""


@dataclass(frozen=True, slots=True)
class LakefsRange:
    """Description of a range."""

    id: str
    min_key: bytes
    max_key: bytes
    count: int


@dataclass(slots=True)
class LakefsMetaranges:
    """Reader of metaranges and ranges. It holds some ranges in memory."""

    blobs: Blobs
    """Objects of the storage namespace of lakeFS."""
    _held: OrderedDict[str, Sequence[Datum]] = field(default_factory=OrderedDict)
    _count: int = 0
    _described: OrderedDict[str, list[LakefsRange]] = field(default_factory=OrderedDict)

    def ranges(self, id: str) -> list[LakefsRange]:
        """Return the ranges of a metarange in the order of their keys. The empty id means no ranges.

        Raises:
            CorruptData: (`CorruptMetarange`) The metarange is missing or damaged.
        """
        if id not in self._described:
            self._described[id] = self._ranges(id)
            if len(self._described) > HELD_METARANGES:
                self._described.popitem(last=False)
        return self._described[id]

    def _ranges(self, id: str) -> list[LakefsRange]:
        found: list[LakefsRange] = []
        for key, value in self._table(id) if id else ():
            identity, data = _parts(key, value, id)
            try:
                said = RangeMessage.FromString(data)
                name = identity.decode()
            except (DecodeError, UnicodeDecodeError) as e:
                raise _corrupt(id, f"the description of the range that ends at {key!r} cannot be read") from e
            made = LakefsRange(name, bytes(said.min_key), bytes(said.max_key), said.count)
            if made.min_key > made.max_key or (found and made.min_key <= found[-1].max_key) or made.max_key != key:
                raise _corrupt(id, f"range {name} overlaps another one")
            found.append(made)
        return found

    def entries(self, wanted: LakefsRange) -> Sequence[Datum]:
        """Return key and data of the entries of a range, in the order of the keys.

        Raises:
            CorruptData: (`CorruptRange`) The range is missing or damaged, or differs from its description.
        """
        if wanted.id in self._held:
            self._held.move_to_end(wanted.id)
            return self._held[wanted.id]
        found = [(key, _parts(key, value, wanted.id)[1]) for key, value in self._table(wanted.id)]
        said = wanted.count, wanted.min_key, wanted.max_key
        if (len(found), *((found[0][0], found[-1][0]) if found else (b"", b""))) != said:
            raise _corrupt(wanted.id, "its entries are not those that its metarange states")
        self._held[wanted.id] = found
        self._count += len(found)
        while self._count > HELD_ENTRIES and len(self._held) > 1:
            self._count -= len(self._held.popitem(last=False)[1])
        return found

    def scan(self, ranges: Sequence[LakefsRange]) -> Iterator[Datum]:
        """Yield key and data of all entries of some ranges, in the order of the keys."""
        for each in ranges:
            yield from self.entries(each)

    def changes(self, before: str, after: str) -> Iterator[Change]:
        """Yield the entries in which two metaranges differ, in the order of the keys. Ranges in both are not read.

        Entries differ if any byte differs, even if lakeFS, which does not compare addresses, treats them as equal.
        """
        left, right = self.ranges(before), self.ranges(after)
        shared = {each.id for each in left} & {each.id for each in right}
        mine = self.scan([each for each in left if each.id not in shared])
        theirs = self.scan([each for each in right if each.id not in shared])
        return _differing(mine, theirs)

    def _table(self, id: str) -> SortedTable:
        if not _ID.fullmatch(id):
            raise _corrupt(id, "its id must consist of hexadecimal digits")
        try:
            return SortedTable(self.blobs.read(f"{FOLDER}{id}"), f"{FOLDER}{id}")
        except NotFound as e:
            raise _corrupt(id, "it is missing") from e


def _differing(left: Iterator[Datum], right: Iterator[Datum]) -> Iterator[Change]:
    before, after = next(left, None), next(right, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before[0] < after[0]):
            assert before is not None  # noqa: S101 - one of them is not None
            yield before[0], before[1], None
            before = next(left, None)
        elif before is None or after[0] < before[0]:
            yield after[0], None, after[1]
            after = next(right, None)
        else:
            if before[1] != after[1]:
                yield before[0], before[1], after[1]
            before, after = next(left, None), next(right, None)


def _parts(key: bytes, value: bytes, id: str) -> tuple[bytes, bytes]:
    """Return identity and data of a value. Bytes after them are ignored, as lakeFS does."""
    try:
        size, at = signed(value, 0)
        further, start = signed(value, at + size)
        if size < 0 or further < 0 or start + further > len(value):
            raise ValueError("its lengths are wrong")
    except ValueError as e:
        raise _corrupt(id, f"the value of {key!r} cannot be read: {e}") from e
    return value[at : at + size], value[start : start + further]


def _corrupt(id: str, why: str) -> CorruptData:
    return CorruptData(f"table {FOLDER}{id} of lakeFS: {why}", kind=Kind.CorruptMetarange, metarange=id)
