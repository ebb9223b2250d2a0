"""Diffs against dictionaries, and what they leave unread."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.diff import CHANGES as CHANGES_ONLY
from graveler_core.committed.diff import KEYS, Differences, diff
from graveler_core.committed.trees import Trees, read_node
from tests.unit.committed.samples import changed, counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import CHANGES, SHORT_KEYS, STATES, Changes, State, after

Found = dict[bytes, tuple[int | None, int | None]]


def oracle(left: State, right: State, prefix: bytes = b"", start: bytes = b"") -> Found:
    keys = sorted(left.keys() | right.keys())
    kept = [k for k in keys if k.startswith(prefix) and k >= start and left.get(k) != right.get(k)]
    return {k: (left.get(k), right.get(k)) for k in kept}


def found_by(parts: list[Differences]) -> Found:
    found: Found = {}
    for part in parts:
        assert len(part) > 0
        for key, old, new in zip(part.keys.to_pylist(), part.before.to_pylist(), part.after.to_pylist(), strict=True):
            assert {old["key"], new["key"]} - {None} == {key}
            found[key] = (old["size"], new["size"])
    return found


def found_in(trees: Trees, left: State, right: State) -> Found:
    return found_by(list(diff(trees, tree(trees, left), tree(trees, right))))


@given(left=STATES, right=STATES)
def test_finds_what_two_dicts_differ_in(left: State, right: State) -> None:
    found = found_in(tiny_trees(), left, right)
    assert found == oracle(left, right)
    assert list(found) == sorted(found)


@given(left=STATES, right=STATES)
def test_columns_that_are_not_wanted_are_left_out(left: State, right: State) -> None:
    trees = tiny_trees()
    sides = tree(trees, left), tree(trees, right)
    whole = list(diff(trees, *sides))
    for wanted in (CHANGES_ONLY, KEYS):
        parts = list(diff(replace(uncached(trees), verify=False), *sides, wanted=wanted))
        assert [part.keys for part in parts] == [part.keys for part in whole]
        for part, every in zip(parts, whole, strict=True):
            assert part.before.equals(every.before.select(wanted.before))
            assert part.after.equals(every.after.select(wanted.after))


@given(base=STATES, changes=CHANGES, prefix=SHORT_KEYS, start=st.one_of(st.just(b""), SHORT_KEYS))
def test_keeps_to_prefix_and_start(base: State, changes: Changes, prefix: bytes, start: bytes) -> None:
    trees = tiny_trees()
    left = tree(trees, base)
    right = changed(trees, left, changes)
    new = after(base, changes)
    assert found_by(list(diff(trees, left, right, prefix=prefix[:1]))) == oracle(base, new, prefix[:1])
    assert found_by(list(diff(trees, left, right, start=start))) == oracle(base, new, start=start)


def test_against_the_empty_tree_everything_differs() -> None:
    state = {b"%03d" % n: n for n in range(100)}
    assert found_in(tiny_trees(), {}, state) == oracle({}, state)
    assert found_in(tiny_trees(), state, {}) == oracle(state, {})


def test_equal_trees_are_not_read() -> None:
    trees = tiny_trees()
    root = tree(trees, {b"a": 1})
    cold = uncached(trees)
    assert list(diff(cold, root, root)) == []
    assert counted(cold).reads == []


def test_shared_ranges_and_subtrees_are_not_read() -> None:
    state = {b"%05d" % n: n % 4 for n in range(3_000)}
    trees = tiny_trees()
    left = tree(trees, state)
    right = changed(trees, left, {b"01500": 9, b"02900": None})
    cold = uncached(trees)
    levels = read_node(cold, left).level + 1
    assert len(found_by(list(diff(cold, left, right)))) == 2
    assert len(counted(cold).reads) < 12 * levels


def test_trees_without_a_common_boundary_are_compared_range_by_range() -> None:
    left = {b"%05d" % n: 1 for n in range(0, 1_000, 2)}
    right = {b"%05d" % n: 1 for n in range(1, 1_000, 2)}
    trees = tiny_trees()
    parts = list(diff(trees, tree(trees, left), tree(trees, right)))
    assert found_by(parts) == oracle(left, right)
    assert max(len(part) for part in parts) < 100
