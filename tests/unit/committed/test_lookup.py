"""Lookups against dictionaries, and how little they read."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.lookup import identities_of, lookup, lookup_many
from graveler_core.committed.trees import ALL, DECISIVE, Trees, hold_range, read_node
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import Cutting
from tests.unit.committed.samples import Decoded, counted, decodings, tiny_trees, tree, uncached
from tests.unit.segments.samples import SHORT_KEYS, STATES, State, entries, state_of


def looked_up(trees: Trees, root: MetarangeId, key: bytes) -> pa.Table | None:
    """The entry at a key as a table of one row."""
    found = lookup(trees, root, key)
    if found is None:
        return None
    columns, row = found
    return pa.Table.from_arrays([column.slice(row, 1) for column in columns], schema=ENTRY_SCHEMA)


@given(state=STATES, keys=st.sets(SHORT_KEYS, max_size=10))
def test_finds_what_a_dict_finds(state: State, keys: set[bytes]) -> None:
    trees = tiny_trees()
    root = tree(trees, state)
    wanted = keys | set(list(state)[:5])
    for key in wanted:
        found = looked_up(trees, root, key)
        assert (found is None) == (key not in state)
        assert found is None or found.equals(entries({key: state[key]}))
    there = entries({key: state[key] for key in wanted if key in state})
    assert lookup_many(trees, root, sorted(wanted)).equals(there)
    for cold in (uncached(trees), replace(uncached(trees), verify=False)):
        assert lookup_many(cold, root, sorted(wanted), DECISIVE).equals(there.select(DECISIVE))


def test_finds_what_was_held_in_pieces() -> None:
    """A range that came from several tables of changes is held in one chunk, as lookups need it."""
    state = {b"%d" % n: n for n in range(3)}
    trees = tiny_trees(cutting=Cutting())
    root = tree(trees, state)
    pieces = [entries({key: number}) for key, number in state.items()]
    hold_range(trees, read_node(trees, root).rows[0], pa.concat_tables(pieces))
    for key, number in state.items():
        found = looked_up(trees, root, key)
        assert found is not None
        assert state_of(found) == {key: number}
    assert lookup_many(trees, root, sorted(state)).num_rows == 3


def test_reads_one_node_a_level_and_one_range() -> None:
    state = {b"%05d" % n: n for n in range(2_000)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    found = looked_up(cold, root, b"01234")
    levels = read_node(cold, root).level + 1
    assert found is not None
    assert state_of(found) == {b"01234": 1234}
    assert len(counted(cold).reads) == levels + 1
    lookup(cold, root, b"01234")
    assert len(counted(cold).reads) == levels + 1


def test_keys_outside_of_all_ranges_cost_no_range() -> None:
    trees = tiny_trees()
    root = tree(trees, {b"b": 1, b"c": 2})
    cold = uncached(trees)
    assert lookup(cold, root, b"a") is None
    assert lookup(cold, root, b"d") is None
    assert lookup_many(cold, root, [b"a", b"d"]).num_rows == 0
    assert len(counted(cold).reads) == 1


def test_many_keys_read_each_range_once() -> None:
    state = {b"%05d" % n: n for n in range(500)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    assert lookup_many(cold, root, sorted(state)).num_rows == 500
    assert len(counted(cold).reads) == len(set(counted(cold).reads))


STATE = {b"%05d" % n: n for n in range(500)}


@pytest.mark.parametrize("columns", [ALL, DECISIVE])
def test_the_same_keys_again_are_not_decoded_again(columns: tuple[str, ...]) -> None:
    cold, root = unverified(STATE)
    for again in (False, True, True):
        counted(cold).reads.clear()
        with decodings() as seen:
            assert lookup_many(cold, root, sorted(STATE)[::2], columns).num_rows == 250
        ranges = len(counted(cold).reads) - (0 if again else len(nodes(cold, root)))
        assert seen == [Decoded(None if columns == ALL else columns)] * ranges
        assert bool(seen) != again


@pytest.mark.parametrize("columns", [ALL, DECISIVE])
def test_a_range_is_held_when_other_keys_are_wanted_of_it(columns: tuple[str, ...]) -> None:
    cold, root = unverified({b"a": 1, b"b": 2, b"c": 3})
    decoded = []
    for keys in ([b"a"], [b"b"], [b"c"], [b"a", b"c"]):
        with decodings() as seen:
            assert lookup_many(cold, root, keys, columns).num_rows == len(keys)
        decoded.append(len(seen))
    assert decoded == [1, 1, 0, 0]


def test_whole_rows_in_memory_serve_who_wants_what_decides() -> None:
    cold, root = unverified(STATE)
    assert lookup(cold, root, b"00123") is not None
    with decodings() as seen:
        identity = entries({b"00123": 123})["identity"][0].as_py()
        assert identities_of(cold, root, [b"00123", b"001230"]) == {b"00123": identity}
    assert not seen


def unverified(state: State) -> tuple[Trees, MetarangeId]:
    """A tree of which nothing is in memory, and ranges are not hashed when they are read."""
    trees = replace(tiny_trees(cutting=Cutting(mean_entries=50)), verify=False)
    root = tree(trees, state)
    return replace(uncached(trees), verify=False), root


def nodes(trees: Trees, id: str) -> set[str]:
    """The ids of all nodes of a tree."""
    node = read_node(trees, id)
    return {id}.union(*(nodes(trees, row.id) for row in node.rows if node.level > 0))
