"""Portions: they cover the spans, in order, evenly, and cost a few nodes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.partitioning import PlannedPartition, Span, of_difference, of_tree
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import read_node
from tests.unit.committed.samples import counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import SHORT_KEYS, STATES, State, state_of

ALL: list[Span] = [(b"", None)]
SPANS = st.lists(SHORT_KEYS, max_size=6, unique=True).map(
    lambda keys: [(a, b) for a, b in list(pairwise([*sorted(keys), None]))[::2] if a is not None]
)


def numbered(count: int) -> State:
    return {b"%05d" % n: n for n in range(count)}


def pieces(portions: list[PlannedPartition]) -> list[Span]:
    return [span for portion in portions for span in portion.spans]


@given(state=STATES, spans=SPANS, rows=st.integers(1, 30))
def test_portions_hold_what_the_spans_hold_in_order(state: State, spans: list[Span], rows: int) -> None:
    trees = tiny_trees()
    root = tree(trees, state)
    found = pieces(of_tree(trees, root, spans, rows))
    tables = [t for start, end in found for t in scan(trees, root, start=start, end=end)]
    wanted = [k for k in sorted(state) if any(a <= k and (b is None or k < b) for a, b in spans)]
    assert list(state_of(*tables)) == wanted
    assert all(a[1] is not None and a[1] <= b[0] for a, b in pairwise(found))
    assert {edge for span in spans for edge in span} <= {edge for span in found for edge in span}


def test_portions_are_even() -> None:
    trees = tiny_trees()
    root = tree(trees, numbered(2_000))
    portions = of_tree(trees, root, ALL, 200)
    assert sum(portion.entries for portion in portions) == 2_000
    assert 10 <= len(portions) <= 13
    assert all(120 <= portion.entries <= 200 for portion in portions[:-1])


def test_a_plan_reads_few_nodes_and_no_range() -> None:
    trees = tiny_trees()
    root = tree(trees, numbered(5_000))
    cold = uncached(trees)
    assert len(of_tree(cold, root, ALL, 5_000)) == 1
    assert len(counted(cold).reads) < 40
    assert len(of_tree(cold, root, [(b"01000", b"01010")], 5_000)) == 1
    levels = read_node(cold, root).level + 1
    assert len(set(counted(cold).reads)) < 40 + 3 * levels


def test_keys_of_one_range_count_it_once() -> None:
    trees = tiny_trees()
    root = tree(trees, numbered(100))
    keys: list[Span] = [(b"%05d" % n, b"%05d\0" % n) for n in range(100)]
    (portion,) = of_tree(trees, root, keys, 100)
    assert portion.entries == 100
    assert len(portion.spans) == 100


def test_a_difference_is_cut_where_it_is() -> None:
    trees = tiny_trees()
    before = numbered(2_000)
    after: State = {**before, **{b"%05d" % n: -n for n in range(800, 1_200)}}
    roots = tree(trees, before), tree(trees, after)
    portions = of_difference(trees, roots, ALL, 100)
    assert portions[0].spans[0][0] == b""
    assert portions[-1].spans[-1][1] is None
    assert 8 <= len(portions) <= 12
    edges = [portion.spans[0][0] for portion in portions[1:]]
    assert all(b"00780" < edge < b"01220" for edge in edges)
    assert len(of_difference(trees, (roots[0], roots[0]), ALL, 100)) == 1


def test_no_span_no_portion() -> None:
    trees = tiny_trees()
    root = tree(trees, numbered(10))
    assert of_tree(trees, root, [], 5) == []
    assert of_tree(trees, tree(trees, {}), ALL, 5) == [PlannedPartition(((b"", None),), 0)]
