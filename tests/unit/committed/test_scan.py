"""Scans against sorted dictionaries, lazily."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.scan import scan
from graveler_core.committed.trees import read_node
from tests.unit.committed.samples import counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import SHORT_KEYS, STATES, State, state_of

BOUNDS = st.one_of(st.just(b""), SHORT_KEYS)


@given(state=STATES, prefix=BOUNDS, start=BOUNDS, end=st.one_of(st.none(), BOUNDS))
def test_gives_what_a_sorted_dict_gives(state: State, prefix: bytes, start: bytes, end: bytes | None) -> None:
    trees = tiny_trees()
    tables = list(scan(trees, tree(trees, state), prefix=prefix, start=start, end=end))
    wanted = [k for k in sorted(state) if k.startswith(prefix) and k >= start and (end is None or k < end)]
    assert list(state_of(*tables)) == wanted
    assert all(table.num_rows for table in tables)


def test_reads_only_as_far_as_it_is_asked() -> None:
    state = {b"%05d" % n: n for n in range(2_000)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    levels = read_node(cold, root).level + 1
    page = next(scan(cold, root, start=b"01000"))
    assert page["key"][0].as_py() == b"01000"
    assert len(counted(cold).reads) <= levels + 1


def test_a_prefix_reads_only_its_ranges() -> None:
    state = {b"%05d" % n: n for n in range(2_000)}
    trees = tiny_trees()
    root = tree(trees, state)
    cold = uncached(trees)
    assert len(state_of(*scan(cold, root, prefix=b"0070"))) == 10
    assert len(counted(cold).reads) < 40
