"""Compute the difference of two indexes without reading shared content.

If both indexes use one metarange, only a key of a layer that they do not share can differ. Runs that both indexes have
in the same order (a common subsequence) are skipped: for a key that is only in such runs, the newest run with the key
is the same on both sides. All keys of the other layers are looked up.

If the metaranges differ, all keys of all layers are looked up, because a layer that both sides have may hide a
difference between the metaranges. Other keys differ if the metaranges differ there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.diff import STATES, Differences, WantedColumns, differences, joined
from graveler_core.committed.diff import diff as diff_trees
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import inline_layer, layers, read_run
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.model.index import Index, Run
from graveler_core.model.key_intervals import key_interval

_KEYS_AT_ONCE = 10_000
"""Number of keys per lookup."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two indexes to compare, and the requested columns."""

    indexes: Indexes
    left: Index
    right: Index
    wanted: WantedColumns


def diff(  # noqa: PLR0913 - the key interval as `scan` takes it
    indexes: Indexes,
    left: Index,
    right: Index,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
    wanted: WantedColumns = STATES,
) -> Iterator[Differences]:
    """Yield the differences from `left` (before) to `right` (after), at keys with `prefix` and `start` ≤ key < `end`.

    The iterator is lazy. Its items are not empty, and keys ascend across all of them. Entries are equal if they have
    the same identity, that is, if they differ only in key, address or mtime.

    Raises:
        CorruptData: An object of an index that had to be read is missing or damaged.
    """
    if left == right:
        return
    first, last = key_interval(prefix, start, end)
    apart = [key for key in _keys_apart(indexes, left, right) if first <= key and (last is None or key < last)]
    done = 0
    sides = _Sides(indexes, left, right, wanted)
    for part in diff_trees(indexes.trees, left.metarange_id, right.metarange_id, start=first, end=last, wanted=wanted):
        through = bisect_right(apart, part.keys[-1].as_py(), done)
        keys = apart[done:through]
        yield from _nonempty(joined([_without(part, keys), *_looked_up(sides, keys)]))
        done = through
    for found in _looked_up(sides, apart[done:]):
        yield from _nonempty(found)


def diff_at(
    indexes: Indexes, left: Index, right: Index, keys: Sequence[bytes], wanted: WantedColumns = STATES
) -> Iterator[Differences]:
    """Yield the differences as `diff` does, at sorted `keys`. The caller knows that both indexes are equal at all other
    keys.
    """
    for found in _looked_up(_Sides(indexes, left, right, wanted), keys):
        yield from _nonempty(found)


def _keys_apart(indexes: Indexes, left: Index, right: Index) -> list[bytes]:
    """Return the sorted keys of all layers that the indexes do not share."""
    if left.metarange_id != right.metarange_id:  # a layer on both sides may hide a key at which the metaranges differ
        return sorted({key for side in (left, right) for layer in layers(indexes, side) for key in layer.keys})
    inline = [{e.key: e.record for e in inline_layer(indexes, side).elements} for side in (left, right)]
    # The newest layers of both: if they contain the same for a key, the key does not differ.
    keys = {key for key in inline[0].keys() | inline[1].keys() if inline[0].get(key) != inline[1].get(key)}
    for run in _runs_apart(left.runs, right.runs):
        keys.update(read_run(indexes, run).keys)
    return sorted(keys)


def _runs_apart(left: Sequence[Run], right: Sequence[Run]) -> list[Run]:
    matched = SequenceMatcher(None, [run.id for run in left], [run.id for run in right], autojunk=False)
    apart: list[Run] = []
    for tag, left_start, left_end, right_start, right_end in matched.get_opcodes():
        if tag != "equal":
            apart += [*left[left_start:left_end], *right[right_start:right_end]]
    return apart


def _looked_up(sides: _Sides, keys: Sequence[bytes]) -> Iterator[Differences]:
    for begin in range(0, len(keys), _KEYS_AT_ONCE):
        part = keys[begin : begin + _KEYS_AT_ONCE]
        before = lookup_many(sides.indexes, sides.left, part, sides.wanted.before)
        after = lookup_many(sides.indexes, sides.right, part, sides.wanted.after)
        yield differences(before, after, exact=sides.wanted.exact)


def _without(found: Differences, keys: Sequence[bytes]) -> Differences:
    if not keys:
        return found
    return found.filter(pc.invert(pc.is_in(found.keys, pa.array(keys, pa.binary()))))


def _nonempty(found: Differences) -> Iterator[Differences]:
    if len(found):
        yield found
