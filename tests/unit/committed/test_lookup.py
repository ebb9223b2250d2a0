"""Lookups against dictionaries, and how little they read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.lookup import lookup, lookup_many
from graveler_core.committed.trees import read_node
from tests.unit.committed.samples import counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import SHORT_KEYS, STATES, State, entries, state_of


@given(state=STATES, keys=st.sets(SHORT_KEYS, max_size=10))
def test_finds_what_a_dict_finds(state: State, keys: set[bytes]) -> None:
    trees = tiny_trees()
    root = tree(trees, state)
    wanted = keys | set(list(state)[:5])
    for key in wanted:
        found = lookup(trees, root, key)
        assert (found is None) == (key not in state)
        assert found is None or found.equals(entries({key: state[key]}))
    many = lookup_many(trees, root, sorted(wanted))
    assert many.equals(entries({key: state[key] for key in wanted if key in state}))


def test_reads_one_node_a_level_and_one_range() -> None:
    state = {b"%05d" % n: n for n in range(2_000)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    found = lookup(cold, root, b"01234")
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
