"""Small commits that know only beginnings of identities: the same results as with whole ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from unittest.mock import patch

from hypothesis import given, settings

from graveler_core.committed import packed
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import beginnings_of_few, identities_of_few
from graveler_core.committed.index.successor import small_successor, successor
from graveler_core.model.index import Index
from tests.examples import examples
from tests.unit.committed.index.samples import FEW_CHANGES, STATES, World, rows
from tests.unit.segments.samples import Changes, records, row

ALIKE = [number for number in range(4_000) if row(b"", number)["identity"][:1] == row(b"", 0)["identity"][:1]][:4]
"""Numbers of entries whose identities begin with the same byte."""


@settings(max_examples=examples(60))
@given(state=STATES, first=FEW_CHANGES, second=FEW_CHANGES)
def test_small_commits_are_those_of_columns(state: Changes, first: Changes, second: Changes) -> None:
    """Also if the beginnings of different identities are equal."""
    state, first, second = ({key: _alike(number) for key, number in each.items()} for each in (state, first, second))
    world = World()
    for base in (world.root(state), world.commit(world.root(state), first).index):
        with patch.object(packed, "_BEGINNING", 1):
            indexes = _with_packed_ranges(world, base, {**state, **second})
            made = small_successor(indexes, base, rows(records(second)))
        assert made == successor(world.indexes, base, records(second))


def test_an_equal_entry_is_no_change() -> None:
    world = World()
    state = {b"%03d" % n: n for n in range(40)}
    base = world.root(state)
    indexes = _with_packed_ranges(world, base, state)
    wanted = {key: state[key] for key in sorted(state)[:4]}
    assert small_successor(indexes, base, rows(records(wanted))).effective == 0
    changed = {key: number + 1 for key, number in wanted.items()}
    assert small_successor(indexes, base, rows(records(changed))).changed == 4


def test_beginnings_of_layers_are_whole() -> None:
    world = World()
    base = world.commit(world.root({b"a": 1, b"b": 2}), {b"b": 3}, small=True).index
    indexes = _with_packed_ranges(world, base, [b"a", b"b"])
    found = beginnings_of_few(indexes, base, [b"a", b"b", b"c"])
    assert [len(identity) for identity in found] == [4, 32, 0]
    assert found[1] == identities_of_few(indexes, base, [b"b"])[0]


def _with_packed_ranges(world: World, index: Index, keys: Iterable[bytes]) -> Indexes:
    """Return indexes whose ranges with some of the keys are packed."""
    indexes = world.indexes
    indexes = replace(indexes, trees=replace(indexes.trees, verify=False))
    for _ in range(2):
        beginnings_of_few(indexes, index, sorted(keys))
    return indexes


def _alike(number: int | None) -> int | None:
    return None if number is None else ALIKE[number]
