"""The shapes that commits give an index, and what is said when a part of one is damaged. Behaviours 51 to 58, 60."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.codec.elements import decode_elements
from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.codec.record_format import EPOCH
from graveler_core.committed.apply import apply
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.indexes import Sizes
from graveler_core.committed.index.layers import own_changes
from graveler_core.committed.index.lookup import lookup
from graveler_core.committed.index.successor import small_successor, successor
from graveler_core.committed.trees import address, count_entries
from graveler_core.errors import CorruptData, InvalidInput, Kind
from graveler_core.kv.limits import MAX_VALUE
from graveler_core.model.entry import Entry
from graveler_core.model.index import Index
from graveler_core.records import layout as keys
from tests.unit.committed.index.samples import World
from tests.unit.records.samples import REPOSITORY
from tests.unit.segments.samples import Changes, records

SMALL = Sizes(inline_bytes=1_000, object_bytes=3_000, fan_out=4, fold_elements=10_000, small_elements=60)
BASE = {b"base/%03d" % number: 1 for number in range(100)}


@pytest.fixture
def world() -> World:
    return World(SMALL)


def actions(index: Index) -> dict[bytes, str]:
    return {e.key: e.action.name for e in decode_elements(index.inline, "test")} if index.inline else {}


def many(first: int, count: int) -> Changes:
    return {b"new/%03d" % number: 2 for number in range(first, first + count)}


def test_the_first_commits_of_a_repository_write_no_file(world: World) -> None:
    """51: an index may begin with nothing."""
    empty = world.root({})
    world.blobs.creates.clear()
    made = world.commit(empty, {b"a": 1})
    assert world.content(made.index) == {b"a": 1}
    assert world.blobs.creates == []


def test_what_a_commit_did_is_of_earlier_commits_in_the_next(world: World) -> None:
    """53."""
    first = world.commit(world.root(BASE), {b"a": 1, b"base/001": None})
    assert actions(first.index) == {b"a": "ADD", b"base/001": "REMOVE"}
    second = world.commit(first.index, {b"b": 1})
    assert actions(second.index) == {b"a": "INCREMENTAL_ADD", b"b": "ADD", b"base/001": "INCREMENTAL_REMOVE"}


def test_removals_go_where_nothing_lies_below(world: World) -> None:
    """53: without a reference index, removals are dropped; a removal by the commit itself stays."""
    first = world.commit(world.root({}), {b"a": 1})
    second = world.commit(first.index, {b"a": None})
    assert actions(second.index) == {b"a": "REMOVE"}
    assert actions(world.commit(second.index, {b"b": 1}).index) == {b"b": "ADD"}


def test_own_changes_are_those_of_the_commit(world: World) -> None:
    """54: exactly what was added and removed, in key order; operations without effect are not among them."""
    base = world.commit(world.root(BASE), {b"z": 1}).index
    made = world.commit(base, {b"a": 1, b"base/000": 1, b"base/002": None, b"nothing": None})
    own = own_changes(world.indexes, made.index)
    assert own is not None
    assert own.table.equals(records({b"a": 1, b"base/002": None}))


def test_older_changes_spill_and_own_ones_stay(world: World) -> None:
    """57: what outgrows the inline index becomes a run; this commit's own changes stay in the commit."""
    index = world.root(BASE)
    for number in range(20):
        before, index = index, world.commit(index, {b"new/%03d" % number: 1}).index
        if index.runs:
            break
    assert [run.elements for run in index.runs] == [len(actions(before))]
    assert actions(index) == {b"new/%03d" % number: "ADD"}


def test_what_is_too_much_for_the_inline_index_is_a_run_of_its_own(world: World) -> None:
    earlier = world.commit(world.root(BASE), {b"a": 1}).index
    made = world.commit(earlier, many(0, 12)).index
    assert (made.own_run, made.inline, [run.elements for run in made.runs]) == (True, b"", [12, 1])
    own = own_changes(world.indexes, made)
    assert own is not None
    assert own.table.equals(records(many(0, 12)))
    after = world.commit(made, {b"b": 1}).index
    assert (after.own_run, after.runs) == (False, made.runs)
    assert actions(after) == {b"b": "ADD"}


def test_a_run_that_is_too_large_for_the_store_is_a_file(world: World) -> None:
    made = world.commit(world.root(BASE), many(0, 40))
    (run,) = made.index.runs
    assert run.size > SMALL.object_bytes
    assert made.writes == ()
    assert address(run.id) in world.blobs.objects
    assert world.content(made.index) == {**BASE, **many(0, 40)}


def test_runs_of_one_size_become_one(world: World) -> None:
    index = world.root(BASE)
    longest = 0
    for number in range(120):
        index = world.commit(index, {b"new/%03d" % (number * 7 % 120): number % 4}).index
        longest = max(longest, len(index.runs))
    assert longest <= 3 * (SMALL.fan_out - 1)
    assert max(run.size for run in index.runs) > 2 * SMALL.inline_bytes
    assert index.metarange_id == world.root(BASE).metarange_id


def test_what_layers_on_both_sides_hide_does_not_differ(world: World) -> None:
    """Equal inline indexes over different metaranges: the key is removed on both sides, and lies below one of them."""
    left = world.commit(world.root({**BASE, b"a": 1}), {b"a": None}).index
    right = replace(left, metarange_id=world.root(BASE).metarange_id)
    assert world.differences(left, right) == {}


def test_many_changes_change_the_metarange(world: World) -> None:
    """58: an index whose keys are all removed has nothing left."""
    layered = world.commit(world.root(BASE), {b"a": 1}).index
    made = world.commit(layered, dict.fromkeys([*BASE, b"a"], None)).index
    assert made == world.root({})
    assert count_entries(world.indexes.trees, made.metarange_id) == 0


def test_keys_that_do_not_rise_are_refused(world: World) -> None:
    table = records({b"a": 1, b"b": 1})
    backwards = table.take([1, 0])
    with pytest.raises(InvalidInput, match="sorted"):
        successor(world.indexes, world.root(BASE), backwards)
    with pytest.raises(InvalidInput, match="sorted"):
        small_successor(world.indexes, world.root(BASE), [(b"b", b""), (b"a", b"")])


@pytest.mark.parametrize("count", [12, 40])
def test_a_missing_run_is_named(world: World, count: int) -> None:
    made = world.commit(world.root(BASE), many(0, count)).index
    (run,) = made.runs
    partition, key = keys.stored_object(REPOSITORY, run.id)
    world.kv.delete(partition, key)
    world.blobs.objects.pop(address(run.id), None)
    with pytest.raises(CorruptData, match=run.id) as caught:
        world.content(made)
    assert caught.value.kind is Kind.CorruptObject


def test_a_run_of_another_length_is_named(world: World) -> None:
    made = world.commit(world.root(BASE), many(0, 12)).index
    (run,) = made.runs
    lying = replace(made, runs=(replace(run, elements=11),))
    with pytest.raises(CorruptData, match="holds 12 elements, not 11"):
        world.content(lying)


def test_an_inline_index_that_is_none(world: World) -> None:
    broken = replace(world.root(BASE), inline=b"\x01not an index")
    with pytest.raises(CorruptData, match="inline index"):
        world.content(broken)


def test_the_default_sizes_fit_the_store() -> None:
    """A run of the most bytes, and a layout of the fullest inline index, are values that every store takes."""
    sizes = Sizes()
    assert sizes.object_bytes * 9 // 8 < MAX_VALUE
    assert sizes.inline_bytes * 4 // 3 + 64 * 200 < MAX_VALUE


def test_what_was_changed_and_changed_back_folds_as_readers_see_it(world: World) -> None:
    """A new mtime, and where there is a checksum a new address, of an entry equal to the one in the metarange."""
    first, other, again = (
        record_table([(b"a", normalise_entry("a", Entry(address=at, checksum=check, size=1, mtime=when)))])
        for at, check, when in [("data/1", "s", EPOCH), ("data/2", "t", EPOCH), ("data/3", "s", EPOCH + timedelta(1))]
    )
    index = Index(metarange_id=apply(world.indexes.trees, None, first).metarange_id)
    for changes in (other, again):
        index = world.written(successor(world.indexes, index, changes)).index
    folded = fold(world.indexes, index)
    seen = lookup(world.indexes, index, b"a")
    assert seen is not None
    assert (seen.address, seen.mtime) == ("data/3", EPOCH + timedelta(1))
    assert lookup(world.indexes, Index(metarange_id=folded), b"a") == seen
    assert folded == apply(world.indexes.trees, None, again).metarange_id
