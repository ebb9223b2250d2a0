"""Lookups against dictionaries, and how little they read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.lookup import identity_of, lookup, lookup_many
from graveler_core.committed.trees import DECISIVE, Trees, read_node
from tests.unit.committed.samples import Decoded, counted, decodings, tiny_trees, tree, uncached
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
    there = entries({key: state[key] for key in wanted if key in state})
    assert lookup_many(trees, root, sorted(wanted)).equals(there)
    for cold in (uncached(trees), replace(uncached(trees), verify=False)):
        assert lookup_many(cold, root, sorted(wanted), DECISIVE).equals(there.select(DECISIVE))


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


def test_what_decides_is_decoded_alone_and_once() -> None:
    state = {b"%05d" % n: n for n in range(500)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = replace(uncached(trees), verify=False)
    with decodings() as seen:
        for _ in range(3):
            assert lookup_many(cold, root, sorted(state), DECISIVE).num_rows == 500
        assert identity_of(cold, root, b"00123") == entries({b"00123": 123})["identity"][0].as_py()
    ranges = len(set(counted(cold).reads)) - len(nodes(cold, root))
    assert seen == [Decoded(DECISIVE)] * ranges


def test_a_glance_at_whole_rows_holds_them_at_the_second_time() -> None:
    state = {b"%05d" % n: n for n in range(500)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = replace(uncached(trees), verify=False)
    counts = []
    for _ in range(4):
        with decodings() as seen:
            assert lookup_many(cold, root, [b"00123"]).equals(entries({b"00123": 123}))
        counts.append(seen)
    assert counts == [[Decoded(None)], [Decoded(None)], [], []]
    with decodings() as seen:
        assert identity_of(cold, root, b"00123") != b""
    assert not seen


def nodes(trees: Trees, id: str) -> set[str]:
    """The ids of all nodes of a tree."""
    node = read_node(trees, id)
    return {id}.union(*(nodes(trees, row.id) for row in node.rows if node.level > 0))
