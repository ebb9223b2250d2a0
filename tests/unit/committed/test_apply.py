"""Applying changes gives the tree of the resulting entries, whatever the base and the order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.committed.apply import apply
from graveler_core.committed.node import NodeRow
from graveler_core.committed.plan import REWRITE_MEANS
from graveler_core.committed.trees import Trees, read_node, read_range
from graveler_core.errors import InvalidInput
from graveler_core.segments.boundary import Cutting, cut, key_hash
from tests.examples import examples
from tests.unit.committed.samples import (
    TINY,
    batches,
    changed,
    content,
    counted,
    tiny_trees,
    tree,
    uncached,
)
from tests.unit.segments.samples import CHANGES, STATES, Changes, State, after, entries, records

GOLDEN = {b"key/%04d" % n: n for n in range(300)}
EMPTY_ROOT = "ef1f5ca620f4a9d2ffd5d9538b92b25baf05f2ba399aa9ca7c8eaf07c13e9cf0"
GOLDEN_ROOT = "592844a911349ba8bd55888f345f6f37cc11db120b5976e3aa60613d6c8c191f"
GOLDEN_ROOT_AT_FULL_SIZE = "842c6c24beebfb4717008b620cb30fc4fa33ad29596299a4a5e413d4190a6a62"
GOLDEN_OPERATIONS = "10e0a7d71a6311db70af44e2c520546223af36bcec7c3a86cd66095fa59d3014"


def ranges_of(trees: Trees, root: str) -> list[NodeRow]:
    node = read_node(trees, root)
    if node.level == 0:
        return list(node.rows)
    return [row for child in node.rows for row in ranges_of(trees, child.id)]


@given(base=STATES, changes=CHANGES)
def test_applies_changes_like_a_dict(base: State, changes: Changes) -> None:
    trees = tiny_trees()
    applied = apply(trees, tree(trees, base), records(changes))
    assert content(trees, applied.metarange_id) == after(base, changes)
    assert applied.added == sum(n is not None and k not in base for k, n in changes.items())
    assert applied.removed == sum(n is None and k in base for k, n in changes.items())
    assert applied.changed == sum(n is not None and base.get(k, n) != n for k, n in changes.items())


@given(base=STATES, steps=st.lists(CHANGES, max_size=5), seed=st.integers(0, 50))
def test_the_root_depends_on_the_entries_alone(base: State, steps: list[Changes], seed: int) -> None:
    trees = tiny_trees(seed)
    root, state = tree(trees, base), dict(base)
    for changes in steps:
        root, state = changed(trees, root, changes), after(state, changes)
    assert root == tree(trees, state)


@given(base=STATES, changes=CHANGES, rows=st.integers(1, 9), mean=st.integers(1, 6), fan_out=st.integers(2, 5))
def test_neither_batches_nor_workers_show(base: State, changes: Changes, rows: int, mean: int, fan_out: int) -> None:
    trees = tiny_trees(cutting=Cutting(mean, 1_500, fan_out))
    root = tree(trees, base)
    whole = apply(trees, root, records(changes))
    with ThreadPoolExecutor(2) as executor:
        streamed = apply(trees, root, batches(records(changes), rows), mapper=executor.map)
    assert streamed == whole


@given(state=STATES)
def test_ranges_are_cut_where_cutting_the_whole_would(state: State) -> None:
    trees = tiny_trees()
    table = entries(state)
    rows = ranges_of(trees, tree(trees, state))
    ends = cut(table, trees.boundary_seed, TINY)
    assert [row.max_key for row in rows] == [table["key"][end - 1].as_py() for end in ends]
    assert sum(row.entries for row in rows) == len(state)
    assert sum(row.size for row in rows) == sum(state.values())


@given(state=STATES, seed=st.integers(0, 20))
def test_every_node_is_kept_and_no_root_has_a_single_node(state: State, seed: int) -> None:
    trees = uncached(tiny_trees(seed))
    root = tree(trees, state)
    bare = uncached(trees)
    assert read_node(bare, root).level == 0 or len(read_node(bare, root).rows) > 1
    assert [read_range(bare, row).table.num_rows for row in ranges_of(bare, root)] == [
        row.entries for row in ranges_of(trees, root)
    ]


def test_changes_that_change_nothing_keep_the_old_entries_and_count_for_nothing() -> None:
    trees = tiny_trees()
    state = {b"a": 1, b"b": 2}
    root = tree(trees, state)
    none = apply(trees, root, records({}))
    again = apply(trees, root, records({b"a": 1, b"missing": None}))
    assert again == none
    assert (again.metarange_id, again.effective) == (root, 0)


def test_operations_are_those_of_the_sorted_effective_changes() -> None:
    trees = tiny_trees()
    root = tree(trees, {b"a": 1})
    put = apply(trees, root, records({b"b": 2}))
    assert put.operations == apply(trees, root, records({b"a": 1, b"b": 2, b"c": None})).operations
    assert put.operations != apply(trees, root, records({b"b": 3})).operations
    assert put.operations != apply(trees, root, records({b"a": None, b"b": 2})).operations


def test_untouched_ranges_and_nodes_are_not_read() -> None:
    state = {b"%05d" % n: n % 4 for n in range(3_000)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    levels = read_node(cold, root).level + 1
    changed(cold, root, {b"01500": 5})
    assert levels > 4
    assert len(counted(cold).reads) < 6 * levels
    assert len(counted(cold).creates) < 4 * levels


def test_an_interval_whose_edge_goes_is_joined_with_the_next() -> None:
    state = {b"%03d" % n: 1 for n in range(200)}
    trees = tiny_trees()
    root = tree(trees, state)
    edges: Changes = {row.max_key: None for row in ranges_of(trees, root)}
    assert changed(trees, root, edges) == tree(trees, after(state, edges))


def test_removing_everything_gives_the_empty_tree() -> None:
    trees = tiny_trees()
    state = {b"%03d" % n: 1 for n in range(200)}
    assert changed(trees, tree(trees, state), dict.fromkeys(state)) == tree(trees, {})


def test_entries_larger_than_a_range_stand_alone() -> None:
    trees = tiny_trees(cutting=Cutting(mean_entries=64, max_bytes=300, fan_out=4))
    state: dict[bytes, int] = {b"%03d" % n + b"x" * (900 if n % 5 == 0 else 10): 1 for n in range(100)}
    rows = ranges_of(trees, tree(trees, state))
    assert max(row.entries for row in rows) <= 3
    assert all(row.entries == 1 for row in rows if len(row.min_key) > 900)


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"]])
def test_keys_out_of_order_are_refused(keys: list[bytes]) -> None:
    trees = tiny_trees()
    parts = [records({key: 1}) for key in keys]
    with pytest.raises(InvalidInput, match="sorted"):
        apply(trees, None, parts)


def test_ids_are_those_of_format_version_1() -> None:
    trees = tiny_trees(seed=0)
    applied = apply(trees, None, records(GOLDEN))
    full = apply(tiny_trees(seed=0, cutting=Cutting()), None, records(GOLDEN))
    assert tree(trees, {}) == EMPTY_ROOT
    assert applied.metarange_id == GOLDEN_ROOT
    assert full.metarange_id == GOLDEN_ROOT_AT_FULL_SIZE
    assert applied.operations == full.operations == GOLDEN_OPERATIONS


@settings(max_examples=examples(10))
@given(base=st.dictionaries(st.integers(0, 900), st.integers(0, 3), min_size=150), data=st.data())
def test_many_changes_over_many_levels(base: dict[int, int], data: st.DataObject) -> None:
    state = {b"%05d" % k: v for k, v in base.items()}
    removed = data.draw(st.sets(st.sampled_from(sorted(state)), max_size=150))
    added = {b"%05d" % k: 9 for k in data.draw(st.sets(st.integers(0, 900), max_size=150))}
    changes: Changes = {**dict.fromkeys(removed), **added}
    trees = tiny_trees(cutting=Cutting(3, 1_000, 2))
    assert changed(trees, tree(trees, state), changes) == tree(trees, after(state, changes))


def test_ranges_behind_a_task_are_cut_anew() -> None:
    """The base cuts a large primary interval into ranges of one entry. A task ends at a boundary that the changes put.
    The two entries behind it are small enough for one range, though no change touches them.
    """
    seed, boundary, cutting = 25, b"41", Cutting(3, 300, 2)
    others = [b"%02d" % n for n in range(41) if key_hash(b"%02d" % n, seed) >= cutting.threshold()]
    assert key_hash(boundary, seed) < cutting.threshold()
    base = dict.fromkeys((*others[:2], b"42", b"43"), 0)
    changes = dict.fromkeys((*others[2:], boundary), 1)
    assert len(changes) >= REWRITE_MEANS * cutting.mean_entries
    trees = tiny_trees(seed, cutting)
    applied = apply(trees, tree(trees, base), records(changes))
    assert applied.metarange_id == tree(tiny_trees(seed, cutting), base | changes)
