"""Ranges and nodes in the store: written once, checked when read."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.committed import cache
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.lookup import lookup
from graveler_core.committed.node import MAX_SIZE
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import address, count_entries, range_row, read_node, read_range, write_range
from graveler_core.errors import CorruptData, Kind
from graveler_core.segments import format as segment_format
from tests.examples import examples
from tests.unit.committed.samples import counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import STATES, State, entries


@given(state=STATES.filter(bool))
def test_a_range_reads_as_it_was_written(state: State) -> None:
    trees = tiny_trees()
    table = entries(state)
    row = range_row(table)
    write_range(trees, row, table)
    assert read_range(trees, row).table.equals(table)
    assert (row.min_key, row.max_key, row.entries) == (min(state), max(state), len(state))


@given(state=STATES)
def test_the_root_counts_the_entries(state: State) -> None:
    trees = tiny_trees()
    assert count_entries(trees, tree(trees, state)) == len(state)


@settings(max_examples=examples(200))
@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_range_is_found_and_named(position: float, flip: int, cut: bool) -> None:
    trees = tiny_trees()
    table = entries({b"%03d" % n: n for n in range(40)})
    row = range_row(table)
    write_range(trees, row, table)
    objects = counted(trees).objects
    data = bytearray(objects[address(row.id)])
    at = int(position * len(data))
    data[at] ^= flip
    objects[address(row.id)] = bytes(data[:at] if cut else data)
    found: CorruptData | None = None
    try:
        assert read_range(trees, row).table.equals(table)
    except CorruptData as e:
        found = e
    if found is not None:
        assert found.kind is Kind.CorruptRange
        assert row.id in str(found)
        assert found.details["address"] == address(row.id)


def test_another_range_in_its_place_is_found_even_unverified() -> None:
    trees = replace(tiny_trees(), verify=False)
    row = range_row(entries({b"a": 1, b"b": 1}))
    counted(trees).objects[address(row.id)] = bytes(segment_format.encode(entries({b"a": 1, b"c": 1})))
    with pytest.raises(CorruptData, match=row.id):
        read_range(trees, row)


def test_other_entries_under_the_same_keys_are_found_when_verifying() -> None:
    trees = tiny_trees()
    row = range_row(entries({b"a": 1, b"b": 1}))
    counted(trees).objects[address(row.id)] = bytes(segment_format.encode(entries({b"a": 1, b"b": 2})))
    with pytest.raises(CorruptData, match=row.id):
        read_range(trees, row)


def test_missing_nodes_and_ranges_are_corruption_and_named() -> None:
    trees = tiny_trees()
    root = tree(trees, {b"a": 1})
    row = read_node(trees, root).rows[0]
    cold = uncached(trees)
    del counted(trees).objects[address(row.id)]
    with pytest.raises(CorruptData, match=row.id) as missing_range:
        list(scan(cold, root))
    assert missing_range.value.kind is Kind.CorruptRange
    del counted(trees).objects[address(root)]
    with pytest.raises(CorruptData, match=root) as missing_node:
        lookup(uncached(trees), root, b"a")
    assert missing_node.value.kind is Kind.CorruptMetarange


def test_sums_of_sizes_beyond_64_bits_stop_there() -> None:
    table = entries({b"a": 1, b"b": 1})
    large = table.set_column(4, table.schema.field("size"), pa.array([MAX_SIZE, MAX_SIZE]))
    assert range_row(large).size == MAX_SIZE


def test_the_cache_remembers_what_it_was_asked_about_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_REMEMBERED", 2)
    asked = TreeCache().asked_before
    assert [asked(id) for id in ("a", "b", "a", "c", "b", "a", "a")] == [False, False, True, False, True, False, True]


def test_the_cache_holds_no_more_than_its_bytes_and_lets_the_oldest_go() -> None:
    held = TreeCache(100)
    held.put("too large", object(), 76)
    assert held.held_bytes == 0
    held.put("large", object(), 75)
    assert held.held_bytes == 75
    for name in "abc":
        held.put(name, name, 40)
        held.get("a")
    assert held.get("large") is None
    assert held.held_bytes == 80
    assert [held.get(name) for name in "abc"] == ["a", None, "c"]
