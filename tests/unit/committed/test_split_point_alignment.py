"""Two neighbours find the same key to meet at, by themselves: the first that ends a range behind their cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.committed import split_point_alignment as closing
from graveler_core.committed.apply import apply
from graveler_core.committed.split_point_alignment import closed
from graveler_core.committed.split_points import Partition, SplitPoint
from graveler_core.segments.boundary import Cutting
from graveler_core.segments.sorted_keys import between
from tests.examples import examples
from tests.unit.committed.samples import batches, counted, tiny_trees, tree, uncached
from tests.unit.committed.test_apply import ranges_of
from tests.unit.committed.test_partitioned_build import CASES, LONG, Case, in_parts, intervals
from tests.unit.committed.test_partitioned_build import closing as boundaries
from tests.unit.segments.blocks import small_blocks
from tests.unit.segments.samples import SHORT_KEYS, Changes, records


@settings(max_examples=examples(150))
@given(case=CASES, key=SHORT_KEYS | st.just(b""), through=st.none() | SHORT_KEYS)
def test_a_cut_is_closed_by_the_first_boundary_behind_it(case: Case, key: bytes, through: bytes | None) -> None:
    trees, base = tiny_trees(case.seed, case.cutting), case.base or {}
    root = None if case.base is None else tree(trees, base)
    behind = Partition(SplitPoint(key), None if through is None else SplitPoint(through))
    inside = batches(between(records(case.changes), behind.start, behind.end), case.rows)
    tables = (pa.Table.from_batches([batch]) for batch in inside)
    found = closed(trees, root, tables, behind)
    there = [
        each for each in boundaries(trees, base, case.changes) if each > key and (through is None or each <= through)
    ]
    assert found == (SplitPoint(min(there), closed=True) if there else SplitPoint(key))


@settings(max_examples=examples(100))
@given(case=CASES)
def test_parts_that_meet_there_give_what_the_whole_gives(case: Case) -> None:
    trees, base = tiny_trees(case.seed, case.cutting), case.base or {}
    changes = records(case.changes)
    with small_blocks():
        root = None if case.base is None else tree(trees, base)
        cuts = list[SplitPoint]()
        for each in intervals([SplitPoint(key) for key in sorted(case.keys)]):
            cut = closed(trees, root, [between(changes, each.start, each.end)], each)
            assert (cut is None) == (each.after is None)
            cuts += [] if cut is None else [cut]
        whole = apply(trees, root, changes, verbatim=case.verbatim)
        assembled, parts = in_parts(trees, root, case.changes, cuts, rows=case.rows, verbatim=case.verbatim)
    assert assembled == whole
    for (left, right), cut in zip(pairwise(parts), cuts, strict=True):
        assert not cut.closed or left.tail.num_rows == right.head.num_rows == 0


def test_no_range_is_read_and_little_else() -> None:
    trees = tiny_trees()
    root = tree(trees, LONG)
    changes: Changes = {key: None for number, key in enumerate(LONG) if number % 2}
    cold, asked = uncached(trees), list[bytes]()

    def tables() -> Iterator[pa.Table]:
        for key in sorted(changes):
            if key > b"00400":
                asked.append(key)
                yield records({key: changes[key]})

    cut = closed(cold, root, tables(), Partition(SplitPoint(b"00400")))
    assert cut == SplitPoint(min(key for key in boundaries(trees, LONG, changes) if key > b"00400"), closed=True)
    assert len(asked) < 20
    ranges = {row.id for row in ranges_of(trees, root)}
    assert not [address for address in counted(cold).reads if address.split("/")[-1] in ranges]


def test_what_is_removed_in_a_row_is_not_looked_through_to_its_end() -> None:
    trees = tiny_trees()
    root = tree(trees, LONG)
    asked = list[bytes]()

    def tables() -> Iterator[pa.Table]:
        for key in LONG:
            asked.append(key)
            yield records({key: None})

    assert closed(trees, root, tables(), Partition(SplitPoint(b""))) == SplitPoint(b"")
    assert len(asked) == closing.LOOKED_AT_MEANS * trees.cutting.mean_entries


def test_ranges_behind_a_new_boundary_are_cut_anew() -> None:
    """The base cuts a primary interval of more than 300 bytes into ranges of one entry. The changes put a boundary in
    the middle. The two entries behind it are small enough for one range, though no change touches them.
    """
    cutting, base = Cutting(3, 300, 2), {b"\x00": 0, b"\x00\x00": 0, b"\x04": 0, b"\x05": 0}
    trees = tiny_trees(1, cutting)
    with small_blocks():
        root = tree(trees, base)
        assert len(ranges_of(trees, root)) == 4
        assembled, _ = in_parts(trees, root, {b"\x01": 0}, [SplitPoint(b"\x01", closed=True)])
        assert assembled == apply(trees, root, records({b"\x01": 0}))
        assert assembled.metarange_id == tree(tiny_trees(1, cutting), base | {b"\x01": 0})
