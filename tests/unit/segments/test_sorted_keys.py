"""Binary search in sorted keys, against lists."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput
from graveler_core.segments import sorted_keys
from graveler_core.segments.sorted_keys import (
    SortedKeys,
    between,
    found_at,
    lower_bound,
    positions,
    require_increasing,
    upper_bound,
)
from tests.unit.segments.samples import SHORT_KEYS, STATES, State, entries, state_of


@given(state=STATES, key=SHORT_KEYS)
def test_bounds_are_those_of_bisect(state: State, key: bytes) -> None:
    keys = entries(state)["key"]
    assert lower_bound(keys, key) == bisect_left(sorted(state), key)
    assert upper_bound(keys, key) == bisect_right(sorted(state), key)


@given(state=STATES, key=SHORT_KEYS, low=st.integers(0, 60), step=st.sampled_from([1, 2, 3, 32]))
def test_searches_among_held_keys_are_those_of_bisect(state: State, key: bytes, low: int, step: int) -> None:
    ordered, keys = sorted(state), SortedKeys(entries(state)["key"].combine_chunks(), step)
    low = min(low, len(ordered))
    assert keys.lower_bound(key, low) == bisect_left(ordered, key, low)
    for probe in (key, *ordered):
        assert keys.position(probe) == (ordered.index(probe) if probe in state else None)


@given(state=STATES, start=st.binary(max_size=3), end=st.one_of(st.none(), st.binary(max_size=3)))
def test_between_includes_its_start_and_not_its_end(state: State, start: bytes, end: bytes | None) -> None:
    inside = [k for k in sorted(state) if k >= start and (end is None or k < end)]
    assert list(state_of(between(entries(state), start, end))) == inside


@pytest.mark.parametrize("search_sorted", [hasattr(pc, "search_sorted"), False])
@given(state=STATES, probes=st.sets(SHORT_KEYS), cuts=st.integers(1, 60))
def test_positions_of_many_are_those_of_bisect(
    search_sorted: bool, state: State, probes: set[bytes], cuts: int
) -> None:
    wanted = sorted(probes | set(list(state)[::2]))
    chunks = [pa.array(wanted[i : i + cuts], pa.binary()) for i in range(0, len(wanted), cuts)]
    for keys in (entries(state)["key"].combine_chunks(), _chunked(entries(state), cuts)["key"]):
        for sought in (pa.array(wanted, pa.binary()), pa.chunked_array(chunks, pa.binary())):
            with patch.object(sorted_keys, "_HAS_SEARCH_SORTED", search_sorted):
                at, found = positions(keys, sought)
            assert found.tolist() == [key in state for key in wanted]
            if state:
                assert at.tolist() == [bisect_left(sorted(state), key) for key in wanted]


@pytest.mark.parametrize("one_by_one", [0, 1_000])
@given(state=STATES, probes=st.sets(SHORT_KEYS))
def test_what_is_there_is_found_one_by_one_or_at_once(one_by_one: int, state: State, probes: set[bytes]) -> None:
    wanted = sorted(probes | set(list(state)[::2]))
    keys = SortedKeys(entries(state)["key"].combine_chunks(), 2)
    with patch.object(sorted_keys, "_ONE_BY_ONE", one_by_one):
        found = found_at(keys, wanted)
    assert found.tolist() == [sorted(state).index(key) for key in wanted if key in state]


def test_a_key_twice_or_out_of_order_is_refused() -> None:
    rising = entries({b"a": 1, b"b": 1, b"\xff": 1})
    require_increasing(rising)
    for rows in ([0, 0], [1, 0], [0, 2, 1]):
        with pytest.raises(InvalidInput, match="sorted"):
            require_increasing(rising.take(rows))


def _chunked(table: pa.Table, rows: int) -> pa.Table:
    return pa.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema)
