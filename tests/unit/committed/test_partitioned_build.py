"""A change in parts gives what it gives in one, wherever it is cut, and a part is small whatever it holds."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.committed.apply import Applied, apply
from graveler_core.committed.partitioned_build import SplitPointMoved, TreePartition, apply_partition, assemble
from graveler_core.committed.split_points import WHOLE, Partition, SplitPoint
from graveler_core.committed.trees import Trees
from graveler_core.errors import InvalidInput
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import Cutting, key_hash
from graveler_core.segments.sorted_keys import between
from tests.examples import examples
from tests.unit.committed.samples import batches, content, counted, tiny_trees, tree, uncached
from tests.unit.committed.test_apply import ranges_of
from tests.unit.segments.blocks import small_blocks
from tests.unit.segments.samples import CHANGES, SHORT_KEYS, STATES, Changes, State, after, records

CUTTINGS = st.builds(Cutting, st.integers(1, 6), st.sampled_from([150, 300, 1_500, 1 << 20]), st.integers(2, 5))
LONG: State = {b"%05d" % number: number % 4 for number in range(1_200)}


def intervals(cuts: Sequence[SplitPoint]) -> list[Partition]:
    """All keys, cut."""
    return [Partition(left, right) for left, right in pairwise([None, *cuts, None])]


def in_parts(
    trees: Trees,
    root: MetarangeId | None,
    changes: Changes,
    cuts: Sequence[SplitPoint],
    *,
    rows: int = 50,
    verbatim: bool = False,
) -> tuple[Applied, list[TreePartition]]:
    """Apply in parts, of which the last is done first, and each twice; all of them are sent."""
    table, parts = records(changes), list[TreePartition]()
    for interval in reversed(intervals(cuts)):
        for _ in range(2):
            pages = batches(between(table, interval.start, interval.end), rows)
            part = apply_partition(trees, root, pages, interval, verbatim=verbatim)
        parts.insert(0, pickle.loads(pickle.dumps(part)))
    return assemble(trees, iter(parts)), parts


def closing(trees: Trees, base: State, changes: Changes, level: int = 0) -> list[bytes]:
    """The primary boundary keys that survive."""
    threshold = trees.cutting.threshold(level)
    return [key for key in after(base, changes) if key_hash(key, trees.boundary_seed) < threshold]


@dataclass(frozen=True)
class Case:
    """A change and how to cut it."""

    base: State | None
    changes: Changes
    keys: frozenset[bytes]
    cutting: Cutting
    seed: int
    rows: int
    verbatim: bool


CASES = st.builds(
    Case,
    base=st.none() | STATES,
    changes=CHANGES,
    keys=st.frozensets(SHORT_KEYS | st.just(b""), max_size=5),
    cutting=CUTTINGS,
    seed=st.integers(0, 50),
    rows=st.sampled_from([3, 50]),
    verbatim=st.booleans(),
)


@settings(max_examples=examples(150))
@given(case=CASES, data=st.data())
def test_parts_give_what_the_whole_gives(case: Case, data: st.DataObject) -> None:
    trees, base = tiny_trees(case.seed, case.cutting), case.base or {}
    known = closing(trees, base, case.changes)
    drawn = data.draw(st.sets(st.sampled_from(known), max_size=4)) if known else set()
    cuts = [SplitPoint(key, key in known and (key in drawn or len(key) % 2 == 0)) for key in sorted(case.keys | drawn)]
    with small_blocks():
        root = None if case.base is None else tree(trees, base)
        whole = apply(trees, root, records(case.changes), verbatim=case.verbatim)
        assembled, _ = in_parts(trees, root, case.changes, cuts, rows=case.rows, verbatim=case.verbatim)
    assert assembled == whole
    assert assembled.given == len(case.changes)
    assert content(uncached(trees), assembled.metarange_id) == after(base, case.changes)


@settings(max_examples=examples(20))
@given(
    base=st.dictionaries(st.integers(0, 900), st.integers(0, 3), min_size=150),
    added=st.sets(st.integers(0, 900), max_size=150),
    gone=st.builds(range, st.integers(0, 500), st.integers(500, 900), st.integers(1, 9)),
    cuts=st.sets(st.integers(0, 900), max_size=6),
)
def test_storms_over_many_levels(base: dict[int, int], added: set[int], gone: range, cuts: set[int]) -> None:
    state = {b"%05d" % k: v for k, v in base.items()}
    changes: Changes = {**{b"%05d" % k: None for k in gone}, **{b"%05d" % k: 9 for k in added}}
    trees = tiny_trees(cutting=Cutting(3, 1_000, 2 + len(cuts) % 3))
    known = set(closing(trees, state, changes))
    root = tree(trees, state)
    whole = apply(trees, root, records(changes))
    at = [b"%05d" % k for k in sorted(cuts)]
    assembled, _ = in_parts(trees, root, changes, [SplitPoint(key, key in known) for key in at])
    assert assembled == whole


def test_what_no_change_touches_is_not_read() -> None:
    trees = tiny_trees()
    root = tree(trees, LONG)
    cuts = [SplitPoint(key, closed=True) for key in closing(trees, LONG, {}, level=3)[:4]]
    cold = uncached(trees)
    for interval in intervals(cuts):
        part = apply_partition(cold, root, records({}), interval)
        assert part.head.num_rows == part.tail.num_rows == 0
    assert not counted(cold).creates
    ranges = {row.id for row in ranges_of(trees, root)}
    assert not [address for address in counted(cold).reads if address.split("/")[-1] in ranges]


def test_an_open_cut_costs_the_range_it_falls_into_on_either_side() -> None:
    trees = tiny_trees()
    root = tree(trees, LONG)
    cold = uncached(trees)
    parts = [
        apply_partition(cold, root, records({}), each)
        for each in intervals([SplitPoint(b"00400x"), SplitPoint(b"00800x")])
    ]
    ranges = {row.id for row in ranges_of(trees, root)}
    assert len([address for address in counted(cold).reads if address.split("/")[-1] in ranges]) <= 8
    assert assemble(cold, parts).metarange_id == root


@pytest.mark.parametrize("value", [None, pytest.param(7, marks=pytest.mark.ci)])
def test_a_part_is_small_whatever_it_holds(value: int | None) -> None:
    trees, cuts = tiny_trees(), [SplitPoint(b"00100"), SplitPoint(b"01100")]
    changes: Changes = {key: value for key in LONG if b"00150" < key < b"01050"}
    with small_blocks(40):
        assembled, parts = in_parts(trees, tree(trees, LONG), changes, cuts)
    assert assembled.metarange_id == tree(trees, after(LONG, changes))
    middle = parts[1]
    assert len(middle.rows) < 12 * 2 * 4
    assert middle.head.num_rows + middle.tail.num_rows < 100
    assert middle.operations.head.num_rows + middle.operations.tail.num_rows < 500
    assert len(pickle.dumps(middle)) < 30_000


def test_an_interval_of_which_all_is_removed_hands_back_nothing() -> None:
    trees = tiny_trees()
    gone: Changes = {key: None for key in LONG if b"00400" < key <= b"00800"}
    assembled, parts = in_parts(trees, tree(trees, LONG), gone, [SplitPoint(b"00400"), SplitPoint(b"00800")])
    assert (parts[1].head.num_rows, parts[1].bounded, parts[1].rows, parts[1].tail.num_rows) == (0, False, (), 0)
    assert assembled.metarange_id == tree(trees, after(LONG, gone))


def test_a_boundary_that_goes_after_all_is_told() -> None:
    trees = tiny_trees()
    edge = closing(trees, LONG, {}, level=2)[3]
    with pytest.raises(SplitPointMoved):
        in_parts(trees, tree(trees, LONG), {edge: None}, [SplitPoint(edge, closed=True)])
    inner = next(key for key in LONG if key > edge and key not in closing(trees, LONG, {}))
    with pytest.raises(SplitPointMoved):
        in_parts(trees, tree(trees, LONG), {}, [SplitPoint(inner, closed=True)])


def test_changes_of_other_intervals_are_refused() -> None:
    trees = tiny_trees()
    for key in (b"a", b"z"):
        with pytest.raises(InvalidInput, match="must be inside"):
            apply_partition(trees, None, records({key: 1}), Partition(SplitPoint(b"b"), SplitPoint(b"x")))


@pytest.mark.parametrize(
    ("order", "error", "why"),
    [
        ([], ValueError, "None follows None"),
        ([1], ValueError, "follows None"),
        ([0], ValueError, "None follows"),
        ([1, 0], ValueError, "follows None"),
        ([0, 1, 2, 2], ValueError, "follows"),
        ([0, 2], SplitPointMoved, r"ends at SplitPoint\(key=b'b'.* begins at SplitPoint\(key=b'x'"),
        ([0, 1, 1], SplitPointMoved, r"ends at SplitPoint\(key=b'x'.* begins at SplitPoint\(key=b'b'"),
    ],
    ids=["none", "no first", "no last", "turned", "more", "a gap", "twice"],
)
def test_parts_are_all_keys_in_order(order: list[int], error: type[Exception], why: str) -> None:
    trees = tiny_trees()
    parts = [
        apply_partition(trees, None, records({}), each) for each in intervals([SplitPoint(b"b"), SplitPoint(b"x")])
    ]
    with pytest.raises(error, match=why):
        assemble(trees, [parts[n] for n in order])


def test_one_part_may_be_all() -> None:
    trees = tiny_trees()
    changes: Changes = {b"00100": 9, b"00700": None}
    part = apply_partition(trees, tree(trees, LONG), records(changes), WHOLE)
    assert assemble(trees, [part]) == apply(trees, tree(trees, LONG), records(changes))
