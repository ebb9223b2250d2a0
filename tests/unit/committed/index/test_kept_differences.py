"""Differences from memory: what a diff says, wherever a read begins and ends, however little room there is."""

from __future__ import annotations

from itertools import islice
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import Differences
from graveler_core.committed.index import kept_differences
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.kept_differences import KeptDifferences
from graveler_core.model.index import Index
from tests.unit.committed.index.samples import CHANGES, KEYS, STATES, World
from tests.unit.segments.samples import Changes, State

SPANS = st.lists(st.tuples(st.just(b"") | KEYS, st.none() | KEYS), min_size=1, max_size=6)
ROOM = st.sampled_from([0, 3_000, 20_000, 1_000_000])


def numbers(found: list[Differences]) -> dict[bytes, tuple[int | None, int | None]]:
    """The numbers before and after; every page holds something, and keys rise over all of them."""
    assert all(map(len, found))
    keys = [key for page in found for key in page.keys.to_pylist()]
    assert keys == sorted(set(keys))
    before, after = ([n for page in found for n in getattr(page, s)["size"].to_pylist()] for s in ("before", "after"))
    return dict(zip(keys, zip(before, after, strict=True), strict=True))


@given(state=STATES, changes=CHANGES, spans=SPANS, room=ROOM, taken=st.integers(1, 3))
def test_as_a_diff(
    state: State, changes: Changes, spans: list[tuple[bytes, bytes | None]], room: int, taken: int
) -> None:
    world = World()
    left = world.root(state)
    right = world.commit(left, changes).index
    cache = TreeCache(room)
    with patch.object(kept_differences, "PAGE_ROWS", 2):
        for start, end in [*spans, *spans]:
            beginning = KeptDifferences(world.indexes, cache).between(left, right, start=start, end=end)
            list(islice(beginning, taken))
            whole = list(KeptDifferences(world.indexes, cache).between(left, right, start=start, end=end))
            assert numbers(whole) == numbers(list(diff(world.indexes, left, right, start=start, end=end)))
    assert cache.held_bytes <= room


def test_the_sides_are_told_apart_and_equal_ones_keep_nothing() -> None:
    world, cache = World(), TreeCache()
    left, right = world.root({b"a": 1}), world.root({b"a": 2})

    def found(one: Index, other: Index) -> dict[bytes, tuple[int | None, int | None]]:
        return numbers(list(KeptDifferences(world.indexes, cache).between(one, other)))

    for _ in range(2):
        assert found(left, right) == {b"a": (1, 2)}
        assert found(right, left) == {b"a": (2, 1)}
    held = cache.held_bytes
    assert found(left, left) == {}
    assert cache.held_bytes == held


def test_the_second_time_nothing_is_read() -> None:
    world, cache = World(), TreeCache()
    left = world.root({b"p/%03d" % number: 1 for number in range(100)})
    right = world.commit(left, {b"p/%03d" % number: 2 for number in range(0, 100, 7)}).index
    first = numbers(list(KeptDifferences(world.indexes, cache).between(left, right)))
    world.blobs.reads.clear()
    assert numbers(list(KeptDifferences(world.indexes, cache).between(left, right))) == first
    assert not world.blobs.reads


def test_pages_hold_no_more_than_themselves() -> None:
    """What is kept of a large difference is copied: a slice would keep all of it in memory."""
    world, cache = World(), TreeCache()
    left = world.root({})
    right = world.root({b"p/%03d" % number: 1 for number in range(40)})
    with patch.object(kept_differences, "PAGE_ROWS", 2):
        pages = list(KeptDifferences(world.indexes, cache).between(left, right))
    assert max(map(len, pages)) == 2
    assert all(page.after.get_total_buffer_size() < 2 * page.after.nbytes + 1_000 for page in pages)
