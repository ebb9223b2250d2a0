"""What differs between two indexes, without reading what they share.

Where both stand on one metarange, only a key of a layer that they do not share can differ. Where the metaranges differ,
every layered key is looked up, since a layer on both sides may hide what differs below, and of other keys those differ
at which the metaranges do. On one metarange, layers cancel along a common subsequence of the runs, in the same order on
both sides: a key that only such runs hold has the same newest one of them on both. Every other key is looked up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.diff import STATES, Differences, Wanted, differences, joined
from graveler_core.committed.diff import diff as diff_trees
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import inline_layer, layers, read_run
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.scan import key_interval
from graveler_core.model.index import Index, Run

_KEYS_AT_ONCE = 10_000
"""Keys that are looked up in one step."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared, and what is wanted of it."""

    indexes: Indexes
    left: Index
    right: Index
    wanted: Wanted


def diff(  # noqa: PLR0913 - the key interval as `scan` takes it
    indexes: Indexes,
    left: Index,
    right: Index,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
    wanted: Wanted = STATES,
) -> Iterator[Differences]:
    """Where `right` (after) differs from `left` (before), at keys that begin with `prefix`, `start` ≤ key < `end`.

    Lazy; none is empty; keys rise over all of them. Entries that differ in key, address or mtime only by the rules of
    identity (same content again) are equal.

    Raises:
        CorruptData: a part of an index that had to be read is missing or damaged.
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
    indexes: Indexes, left: Index, right: Index, keys: Sequence[bytes], wanted: Wanted = STATES
) -> Iterator[Differences]:
    """As `diff`, at some sorted keys, outside of which the caller knows both to hold the same."""
    for found in _looked_up(_Sides(indexes, left, right, wanted), keys):
        yield from _nonempty(found)


def _keys_apart(indexes: Indexes, left: Index, right: Index) -> list[bytes]:
    """The keys of all layers that the indexes do not share, sorted."""
    if left.metarange_id != right.metarange_id:  # a layer on both sides may hide a key at which the metaranges differ
        return sorted({key for side in (left, right) for layer in layers(indexes, side) for key in layer.keys})
    inline = [{e.key: e.record for e in inline_layer(indexes, side).elements} for side in (left, right)]
    # The newest layers of both: where they say the same of a key, it is the same.
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
