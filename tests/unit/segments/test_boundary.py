"""Tests of the boundaries of sorted entries: they depend on the entries alone and keep the limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput
from graveler_core.segments.boundary import (
    FIXED_ROW_BYTES,
    HASH_VALUES,
    Cutting,
    cut,
    key_hash,
    key_hashes,
    logical_bytes,
    primary_ends,
    under,
)
from tests.unit.segments.samples import STATES, State, entries, row

SEEDS = st.integers(0, 2**64 - 1)


def weight(record: dict[str, Any]) -> int:
    texts = [record["key"], record["address"], record["checksum"], record["content_type"], record["data"]]
    metadata = [text for pair in record["metadata"] or [] for text in pair]
    return FIXED_ROW_BYTES + sum(len(text) for text in texts + metadata if text is not None)


def pieces(state: State, seed: int, cutting: Cutting) -> list[list[bytes]]:
    table = entries(state)
    ends = cut(table, seed, cutting)
    keys = table["key"].to_pylist()
    return [keys[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@given(state=STATES, seed=SEEDS)
def test_hashes_of_many_are_the_hashes_of_each(state: State, seed: int) -> None:
    keys = entries(state)["key"]
    assert key_hashes(keys, seed).tolist() == [key_hash(key.as_py(), seed) for key in keys]


def test_the_hash_is_that_of_format_version_1() -> None:
    assert key_hash(b"key", 0) == 13_540_649_951_185_429_987
    assert key_hash(b"key", 2**64 - 1) == 6651284412384156468


@given(hashes=st.lists(SEEDS, max_size=20), threshold=st.integers(0, HASH_VALUES))
def test_under_is_less_than(hashes: list[int], threshold: int) -> None:
    assert under(np.array(hashes, np.uint64), threshold).tolist() == [h < threshold for h in hashes]


@given(state=STATES, offset=st.integers(0, 5))
def test_logical_bytes_count_texts_and_a_fixed_sum(state: State, offset: int) -> None:
    expected = [weight(row(key, state[key])) for key in sorted(state)]
    table = entries(state)
    assert logical_bytes(table).tolist() == expected
    assert logical_bytes(table.slice(offset)).tolist() == expected[offset:]


@given(state=STATES, seed=SEEDS, mean=st.integers(1, 10))
def test_primary_intervals_end_at_keys_under_the_threshold(state: State, seed: int, mean: int) -> None:
    cutting = Cutting(mean_entries=mean, max_bytes=1 << 30)
    closing = [key for key in sorted(state) if key_hash(key, seed) < HASH_VALUES // mean]
    cuts = pieces(state, seed, cutting)
    assert [piece[-1] for piece in cuts if piece[-1] in closing] == closing
    assert [key for piece in cuts for key in piece] == sorted(state)
    assert all(key not in closing for piece in cuts for key in piece[:-1])
    assert len(primary_ends(entries(state)["key"], seed, cutting)) == len(closing)


@given(state=STATES, seed=SEEDS, mean=st.integers(1, 30), max_bytes=st.integers(1, 3_000))
def test_no_piece_passes_the_maximum_but_a_single_entry(state: State, seed: int, mean: int, max_bytes: int) -> None:
    for piece in pieces(state, seed, Cutting(mean, max_bytes)):
        assert len(piece) == 1 or sum(weight(row(key, state[key])) for key in piece) <= max_bytes


@given(state=STATES, seed=SEEDS, mean=st.integers(1, 30), max_bytes=st.integers(1, 3_000))
def test_an_interval_is_cut_whatever_stands_in_the_others(state: State, seed: int, mean: int, max_bytes: int) -> None:
    cutting = Cutting(mean, max_bytes)
    whole = pieces(state, seed, cutting)
    alone: list[list[bytes]] = []
    for interval in pieces(state, seed, Cutting(mean, 1 << 40)):
        alone += pieces({key: state[key] for key in interval}, seed, cutting)
    assert whole == alone


def test_inside_a_large_interval_most_cuts_survive_a_change() -> None:
    cutting = Cutting(mean_entries=1 << 40, max_bytes=20 * 200)
    state = {b"%05d" % n: 1 for n in range(1_000)}
    ends = {piece[-1] for piece in pieces(state, 3, cutting)}
    changed = {piece[-1] for piece in pieces({**state, b"00003x": 1}, 3, cutting)}
    assert len(ends) > 50
    assert len(ends ^ changed) < len(ends) / 4


def test_where_no_key_is_a_boundary_ranges_are_filled_to_the_maximum() -> None:
    seed = 0
    adverse = [b"%d" % n for n in range(20_000) if key_hash(b"%d" % n, seed) >= HASH_VALUES * 0.99][:100]
    assert len(adverse) == 100
    cutting = Cutting(mean_entries=1 << 40, max_bytes=1_000)
    sizes = [len(piece) for piece in pieces(dict.fromkeys(adverse, 0), seed, cutting)]
    assert min(sizes[:-1]) >= 5


def test_where_every_key_is_a_boundary_each_stands_alone() -> None:
    assert cut(entries({b"a": 1, b"b": 1}), 0, Cutting(mean_entries=1)) == [1, 2]
    assert cut(entries({}), 0, Cutting()) == []


@pytest.mark.parametrize("wrong", [{"mean_entries": 0}, {"max_bytes": 0}, {"fan_out": 1}])
def test_sizes_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        Cutting(**wrong)
