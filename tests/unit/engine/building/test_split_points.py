"""Work is cut into about equal pieces by what is known without reading it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graveler_core.committed.apply import apply
from graveler_core.committed.node_statistics import about_between, outline, unshared
from graveler_core.committed.split_points import SplitPoint, partitions_between
from graveler_core.committed.trees import read_node
from graveler_core.engine.building.changes import StagedChanges
from graveler_core.engine.building.trees import choose_split_points
from graveler_core.engine.committing.seal import seal
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.reading.view import view_under
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.staging import area
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores
from tests.unit.committed.samples import counted, tiny_trees, tree, uncached
from tests.unit.committed.test_apply import ranges_of
from tests.unit.engine.world import World
from tests.unit.segments.samples import Changes, State, records

PIECES = 5
MAIN = RepositoryId("repo"), BranchId("main")
BASE: Changes = {b"k/%05d" % number: 1 for number in range(600)}
SKEWED: Changes = {b"a": 1, b"b": 1} | {b"x" * 60 + b"/%05d" % number: 2 for number in range(500)} | {b"z": 1}


def staged(world: World, changes: Changes) -> tuple[Stores, StagedChanges]:
    """One token that holds all of them, and its source."""
    stores = world.stores()
    area.put_table(stores.kv, fresh(stores, *MAIN).branch.staging_token, records(changes))
    world.branch().pressure(exact=True)
    registers = fresh(stores, *MAIN)
    return stores, StagedChanges.of(MAIN[1], view_under(stores, registers, layers_of(registers.branch)))


def cut_up(stores: Stores, source: StagedChanges, pieces: int = PIECES) -> tuple[list[SplitPoint], list[int]]:
    """The cuts, and how many changes each piece has."""
    found = choose_split_points(stores, source, (source.compacted or source.head).metarange_id, pieces)
    taken = [source.changes(stores, each.start, each.end) for each in partitions_between(found)]
    return found, [sum(table.num_rows for table in tables) for tables in taken]


def require_even(sizes: Sequence[int], total: int) -> None:
    assert sum(sizes) == total
    assert len(sizes) == PIECES
    assert max(sizes) < 1.6 * total / PIECES


@pytest.mark.parametrize("changes", [BASE, SKEWED], ids=["one huge token", "skewed keys"])
def test_on_an_empty_branch(world: World, changes: Changes) -> None:
    stores, source = staged(world, changes)
    assert source.rows(stores) == len(changes)
    require_even(cut_up(stores, source)[1], len(changes))


def test_several_tokens(world: World) -> None:
    staged(world, {b"k/%05d" % number: 1 for number in range(0, 600, 2)})
    seal(world.stores(), *MAIN, allow_empty=False)
    stores, source = staged(world, {b"k/%05d" % number: 1 for number in range(1, 600, 2)})
    require_even(cut_up(stores, source)[1], 600)


def test_a_small_change_on_a_large_base_is_cut_where_it_is(world: World) -> None:
    committed(world, BASE)
    few: Changes = {b"k/%05d" % number: 2 for number in range(100, 140)}
    stores, source = staged(world, few)
    require_even(cut_up(stores, source)[1], len(few))


def test_a_huge_change_on_a_small_base(world: World) -> None:
    committed(world, {b"k/00300": 1})
    stores, source = staged(world, BASE)
    require_even(cut_up(stores, source)[1], len(BASE))


def test_removed_prefixes_are_cut_by_what_the_trees_tell(world: World) -> None:
    committed(world, BASE)
    world.branch().remove_prefix("k/002")
    stores = world.stores()
    registers = fresh(stores, *MAIN)
    source = StagedChanges.of(MAIN[1], view_under(stores, registers, layers_of(registers.branch)))
    assert 100 <= source.rows(stores) < 150
    require_even(cut_up(stores, source)[1], 100)


def test_nothing_is_not_cut(world: World) -> None:
    stores, source = staged(world, {})
    assert cut_up(stores, source) == ([], [0])
    assert source.rows(stores) == 0


def test_an_outline_reads_nodes_alone_and_few() -> None:
    trees = tiny_trees()
    state: State = {b"%05d" % number: 1 for number in range(2_000)}
    root, ranges = tree(trees, state), 0
    for wanted in (1, 10, 50, 10_000):
        cold = uncached(trees)
        rows = outline(cold, root, wanted)
        assert sum(row.entries for row in rows) == len(state)
        assert len(counted(cold).reads) <= 2 * wanted + 1
        assert len(rows) >= min(wanted, len(ranges_of(trees, root)))
        ranges = max(ranges, len(rows))
    assert ranges == len(ranges_of(trees, root))
    some = outline(trees, root, 10_000, b"00500", b"00600")
    assert 100 <= sum(row.entries for row in some) < 200


def test_entries_between_keys_are_counted_from_nodes_along_the_edges() -> None:
    trees = tiny_trees()
    root = tree(trees, {b"%05d" % number: 1 for number in range(2_000)})
    cold = uncached(trees)
    assert 1_000 <= about_between(cold, root, b"00500", b"01500") < 1_060
    assert len(counted(cold).reads) < 2 * (1 + read_node(trees, root).level) + 2
    assert about_between(cold, root, b"", None) == 2_000
    assert about_between(cold, root, b"1", None) == 0


def test_what_trees_share_is_left_out() -> None:
    trees = tiny_trees()
    state: State = {b"%05d" % number: 1 for number in range(2_000)}
    root = tree(trees, state)
    other = apply(trees, root, records({b"%05d" % number: 2 for number in range(700, 760)})).metarange_id
    ours, theirs = unshared(trees, root, other, 20)
    assert len(ours) + len(theirs) >= 20
    for side in (ours, theirs):
        assert 60 <= sum(row.entries for row in side) < 600
    assert unshared(trees, root, root, 20) == ([], [])
    assert unshared(trees, root, tree(trees, {}), 10_000) == (ranges_of(trees, root), [])


def committed(world: World, changes: Changes) -> None:
    stores = world.stores()
    area.put_table(stores.kv, fresh(stores, *MAIN).branch.staging_token, records(changes))
    world.branch().commit("base")
