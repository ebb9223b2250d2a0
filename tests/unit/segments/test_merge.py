"""The kernels on sorted tables against dictionaries."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.segments.merge import (
    apply_changes,
    as_entries,
    as_records,
    identities,
    newest_wins,
    overlay,
    overlay_few,
    paired,
)
from tests.unit.segments.samples import CHANGES, STATES, Changes, State, after, entries, records


@given(layers=st.lists(CHANGES, min_size=1, max_size=6), cuts=st.integers(1, 50))
def test_the_newest_record_of_a_key_wins(layers: list[Changes], cuts: int) -> None:
    merged = newest_wins([_chunked(records(layer), cuts) for layer in layers])
    expected: dict[bytes, int | None] = {}
    for layer in reversed(layers):
        expected.update(layer)
    assert merged.equals(records(expected))


@given(base=STATES, changes=CHANGES, cuts=st.integers(1, 50))
def test_changes_apply_like_a_dict_however_the_tables_are_chunked(base: State, changes: Changes, cuts: int) -> None:
    applied = apply_changes(_chunked(entries(base), cuts), _chunked(records(changes), cuts))
    assert applied.entries.equals(entries(after(base, changes)))
    assert applied.entries.schema.equals(ENTRY_SCHEMA)
    real = {k: n for k, n in changes.items() if base.get(k) != n}
    assert applied.effective.equals(records(real))
    assert applied.added + applied.changed + applied.removed == len(real)
    assert applied.entries.num_rows == len(base) + applied.added - applied.removed


@given(base=STATES, layers=st.lists(CHANGES, min_size=1, max_size=4), cuts=st.integers(1, 50))
def test_few_records_lie_over_entries_as_many_do(base: State, layers: list[Changes], cuts: int) -> None:
    below, above = _chunked(entries(base), cuts), [_chunked(records(layer), cuts) for layer in layers]
    shown = overlay_few(below, above)
    assert shown.equals(overlay(below, newest_wins(above)))
    assert shown.schema.equals(ENTRY_SCHEMA)


def test_the_same_content_again_leaves_the_old_entry_with_its_time_and_address() -> None:
    old = entries({b"a": 1})
    address = ENTRY_SCHEMA.get_field_index("address")
    moved = records({b"a": 1}).set_column(address, "address", pa.array(["elsewhere"]))
    applied = apply_changes(old, moved)
    assert applied.entries.equals(old)
    assert applied.effective.num_rows == 0


@given(left=STATES, right=STATES, cuts=st.integers(1, 60))
def test_pairs_are_the_union_of_the_keys(left: State, right: State, cuts: int) -> None:
    mine, others = sorted(left), sorted(right)
    pairs = paired(_chunked(entries(left), cuts), _chunked(entries(right), cuts))
    keys = sorted(left.keys() | right.keys())
    assert pairs.left.tolist() == [mine.index(k) if k in left else -1 for k in keys]
    assert pairs.right.tolist() == [others.index(k) if k in right else -1 for k in keys]


@given(state=STATES, offset=st.integers(0, 4))
def test_identities_as_numbers_are_their_bytes(state: State, offset: int) -> None:
    table = entries(state).slice(offset)
    assert [row.tobytes() for row in identities(table)] == table["identity"].to_pylist()


def test_identities_of_tombstones_are_zeros() -> None:
    assert not identities(records({b"a": None})).any()


@given(state=STATES)
def test_entries_become_records_and_back(state: State) -> None:
    assert as_records(entries(state)).equals(records(state))
    assert as_entries(records(state)).equals(entries(state))


def _chunked(table: pa.Table, rows: int) -> pa.Table:
    return pa.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema)
