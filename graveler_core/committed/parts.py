"""Parts of ranges. A lookup of a few keys in a range that is not cached decodes only the parts that may have them. If
it does not find all of them, the fingerprints of the range are cached for later lookups.

Parts are the row groups of the file. The footer, which has no checksum, states the last key of each part. Damage to it
never hides an entry: the bounds of the range must be those of its row in the node, the last key of a part must be the
stated one, and a key before the first key of its part is looked up in the whole range.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby

from graveler_core.committed.fingerprints import keep_fingerprints
from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import (
    PART_ROWS,
    Range,
    Trees,
    address,
    differs,
    glance,
    held,
    range_of,
    read_data,
    read_keys,
    read_range,
)
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.segments.format import PartedFile
from graveler_core.segments.sorted_keys import found_at

_FEW_KEYS = 16
"""Maximum number of keys for which parts are read. For more keys, the range is decoded as a whole."""
_KEY_BYTES = 80
"""Memory of a key in a list, without its bytes."""


def glance_at(
    trees: Trees, row: NodeRow, keys: Sequence[bytes], columns: tuple[str, ...], *, keep: bool = False
) -> Iterator[tuple[Range, Sequence[bytes]]]:
    """Yield a range, or parts of it, each with those of the keys that no other one may have.

    Args:
        trees: The repository's trees.
        row: The range.
        keys: One or more sorted keys, none of them less than the first key of the range or greater than the last.
        columns: Columns to decode: `ALL` or `DECISIVE`.
        keep: Cache what is decoded at once. Otherwise it is cached from the second call on.

    Raises:
        CorruptData: The range is missing, damaged, or differs from its row.
    """
    whole = held(trees, row, columns)
    if whole is not None:
        yield whole, keys
        return
    file, found = _File(trees, row, keep), 0
    for part, asked in file.decoded(keys, columns):
        yield part, asked
        found += len(found_at(part.keys, asked))
    if found < len(keys):
        file.keep_fingerprints()


class _File:
    """File of a range that is not cached. It is read at most once."""

    def __init__(self, trees: Trees, row: NodeRow, keep: bool) -> None:
        self._trees = trees
        self._row = row
        self._keep = keep
        self._read: bytes | None = None
        self._opened: PartedFile | None = None
        self._whole: Range | None = None

    def decoded(self, keys: Sequence[bytes], columns: tuple[str, ...]) -> Iterator[tuple[Range, Sequence[bytes]]]:
        """Yield what `glance_at` yields."""
        whole = self._trees.verify or len(keys) > _FEW_KEYS or self._row.entries <= PART_ROWS
        last_keys = [] if whole else self.last_keys()
        if not last_keys:
            yield self.whole(columns), keys
            return
        for number, wanted in groupby(keys, lambda key: bisect_left(last_keys, key)):
            asked = list(wanted)
            part = self.part(number, last_keys[number], columns)
            if number and asked[0] < part.columns[0][0].as_py():
                part = self.whole(columns)
            yield part, asked

    def keep_fingerprints(self) -> None:
        """Cache the fingerprints of the range. Its file is not read again."""
        whole = self._whole
        keys = read_keys(self._trees, self._row, self._content()) if whole is None else whole.columns[0]
        keep_fingerprints(self._trees, self._row, keys)

    def last_keys(self) -> list[bytes]:
        """Return the last key of each part, or an empty list if the range has no parts."""
        id, row = (self._row.id, "parts"), self._row
        known: list[bytes] | None = self._trees.cache.get(id)
        if known is None:
            parts = self._parted().parts()
            known = [] if parts is None else parts.last_keys
            bounds = row.min_key, row.max_key, row.entries
            if parts is not None and (parts.first_key, known[-1], parts.rows) != bounds:
                raise differs(row)
            self._trees.cache.put(id, known, sum(map(len, known)) + _KEY_BYTES * (len(known) + 1))
        return known

    def part(self, number: int, last_key: bytes, columns: tuple[str, ...]) -> Range:
        """Return columns of a part."""
        id = (self._row.id, columns, number)
        found: Range | None = self._trees.cache.get(id)
        if found is None:
            found = range_of(self._parted().decode(number, columns))
            if not found.table.num_rows or found.columns[0][-1].as_py() != last_key:
                raise differs(self._row)
            if self._keep or self._trees.cache.asked_before(id):
                self._trees.cache.put(id, found, found.table.nbytes)
        return found

    def whole(self, columns: tuple[str, ...]) -> Range:
        """Return columns of the whole range."""
        if self._whole is None:
            trees, row, data = self._trees, self._row, self._read
            self._whole = read_range(trees, row, data) if self._keep else glance(trees, row, columns, data)
        return self._whole

    def _parted(self) -> PartedFile:
        """Open the file. If its content is cached, other parts need no other read of the store."""
        if self._opened is None:
            self._opened = PartedFile(self._content(), ENTRY_SCHEMA, address(self._row.id))
        return self._opened

    def _content(self) -> bytes:
        id = (self._row.id, "file")
        if self._read is None:
            self._read = self._trees.cache.get(id)
        if self._read is None:
            self._read = read_data(self._trees, self._row)
            if self._trees.cache.asked_before(id):
                self._trees.cache.put(id, self._read, len(self._read))
        return self._read
