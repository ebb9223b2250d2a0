"""Staged records: golden bytes, one encoding, both paths equal, and corrupt values refused by name."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.entry import entries as entries_of
from graveler_core.codec.identity import identity
from graveler_core.codec.staged_record import decode_record, encode_entry, encode_tombstone
from graveler_core.codec.staged_records import decode_records, encode_records
from graveler_core.errors import CorruptData, InvalidInput, LimitExceeded
from graveler_core.model.entry import MAX_RECORD_BYTES, RECORD_SCHEMA, Entry
from tests.unit.codec.entry_examples import FULL, PLAIN, entries, records, recut, table_of

GOLDEN_FULL = bytes.fromhex(
    "01fe01f9ffd20400000000000045c419c994d404002ad9bda1e4c42b74305c72e8a857f51ec3f7225c0ed1e942720e92dae1b64a2c"
    "0900000008000000150000002200000002000000000000000000000000000000000000056461"
    "74612f6162313264343164386364396170706c69636174696f6e2f782d706172717565740600000004000000636f6c6f757272c3a464"
    "05000000030000006f776e6572616e6e0078"
)
GOLDEN_PLAIN = bytes.fromhex(
    "0108010000000000000000000000000000000000008f13d4b84364aaf41474aff2c07803ff799fad52e0074aafe7cf1860c817b59d"
    "0900000000000000000000000000000000000000646174612f61623132"
)
ROOM = MAX_RECORD_BYTES - len(encode_entry(Entry(data=b"")))


def value_of(row: Entry | None) -> bytes:
    return encode_tombstone() if row is None else encode_entry(row)


def decoded(keys: list[bytes], values: list[bytes]) -> pa.Table:
    return decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def test_golden() -> None:
    assert encode_entry(FULL) == GOLDEN_FULL
    assert encode_entry(PLAIN) == GOLDEN_PLAIN
    assert encode_tombstone() == b"\x01\x01"
    assert decode_record(FULL.path, GOLDEN_FULL) == replace(FULL, identity=identity(FULL))
    assert decode_record("gone", b"\x01\x01") is None


@given(entries)
def test_an_entry_comes_back(entry: Entry) -> None:
    back = decode_record(entry.path, encode_entry(entry))
    assert back == replace(entry, identity=identity(entry), metadata=dict(entry.metadata))


@given(records, st.integers(0, 6))
def test_columns_equal_single_records(rows: list[Entry | None], cut: int) -> None:
    table = table_of(rows)
    values = encode_records(recut(table, cut))
    assert values.to_pylist() == [value_of(row) for row in rows]
    back = decode_records(table.column("key"), values)
    back.validate(full=True)
    assert back.schema == RECORD_SCHEMA
    assert back.equals(table)
    assert list(entries_of(back)) == [replace(row, identity=identity(row)) for row in rows if row is not None]


@given(records, st.integers(0, 6))
def test_decodes_slices_and_wide_values(rows: list[Entry | None], start: int) -> None:
    table = table_of(rows)
    keys, values = table.column("key").combine_chunks(), encode_records(table).combine_chunks()
    expected = table.slice(start)
    assert decode_records(keys.slice(start), values.slice(start)).equals(expected)
    assert decode_records(keys.slice(start), values.cast(pa.large_binary()).slice(start)).equals(expected)


def test_many_slices_of_work() -> None:
    rows = table_of([FULL, None, PLAIN]).combine_chunks().take(pa.array(np.arange(50_000) % 3))
    values = encode_records(rows)
    assert values.num_chunks > 1
    assert decode_records(rows.column("key"), values).equals(rows)


def one_by_one(key: bytes, value: bytes) -> Entry | CorruptData | None:
    try:
        return decode_record(key.decode(), value)
    except CorruptData as e:
        return e


@given(st.lists(st.sampled_from([GOLDEN_FULL, GOLDEN_PLAIN, b"\1\1"]), min_size=1, max_size=3), st.data())
def test_damaged_records_are_refused_or_read_alike(values: list[bytes], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(values) - 1))
    damaged = bytearray(values[row])
    for _ in range(data.draw(st.integers(0, 3))):
        # Most of what can go wrong stands in the first bytes.
        at = data.draw(st.integers(0, min(24, len(damaged) - 1)) | st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(damaged)) | st.integers(0, len(damaged)))
    values = [*values[:row], bytes(damaged[:cut]) + data.draw(st.just(b"") | st.binary(max_size=3)), *values[row + 1 :]]
    keys = [b"key/%d" % n for n in range(len(values))]
    single = one_by_one(keys[row], values[row])
    if isinstance(single, CorruptData):
        with pytest.raises(CorruptData, match=f"key/{row}'"):
            decoded(keys, values)
        return
    together = decoded(keys, values)
    together.validate(full=True)
    assert encode_records(together).to_pylist() == values
    assert value_of(single) == values[row]


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=3))
def test_any_bytes_are_refused_or_come_back(values: list[bytes]) -> None:
    try:
        table = decoded([b"k"] * len(values), values)
    except CorruptData:
        return
    assert encode_records(table).to_pylist() == values


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "malformed"),
        (b"\1", "malformed"),
        (b"\2\1", "version 2"),
        (b"\1\3", "malformed"),
        (b"\1\1\0", "malformed"),
        (GOLDEN_FULL[:-1], "malformed"),
        (GOLDEN_FULL + b"\0", "malformed"),
        (GOLDEN_FULL.replace(b"x-parquet", b"x-parq\xff\xff\xff"), "malformed"),
        (GOLDEN_FULL.replace(b"colour", b"xolour"), "canonical"),
        (b"\1\x0a" + GOLDEN_PLAIN[2:3] + b"\0" * 9 + b"\7" + b"\xff" * 8 + GOLDEN_PLAIN[22:], "malformed"),
        (b"\1" * (MAX_RECORD_BYTES + 1), "malformed"),
    ],
)
def test_names_the_corrupt_key(value: bytes, why: str) -> None:
    with pytest.raises(CorruptData, match=f"'a/b'.*{why}"):
        decode_record("a/b", value)
    with pytest.raises(CorruptData, match=f"'a/b'.*{why}"):
        decoded([b"x", b"a/b", b"y"], [GOLDEN_FULL, value, b"\1\1"])


def test_a_record_has_at_most_72_kib() -> None:
    largest, larger = Entry(path="big", data=b"x" * ROOM), Entry(path="big", data=b"x" * (ROOM + 1))
    assert len(encode_entry(largest)) == MAX_RECORD_BYTES
    assert len(encode_records(table_of([PLAIN, largest]))[1].as_py()) == MAX_RECORD_BYTES
    with pytest.raises(LimitExceeded, match="'big'"):
        encode_entry(larger)
    with pytest.raises(LimitExceeded, match="'big'"):
        encode_records(table_of([PLAIN, larger]))


@pytest.mark.parametrize(
    "change",
    [
        {"size": -1},
        {"size": 2**63},
        {"payload": 1 << 15},
        {"address_type": 3},
        {"mtime": datetime(2020, 1, 1)},
        {"mtime": "2020-01-01"},
        {"mtime": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
        {"mtime": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
        {"content_type": "\ud800"},
        {"data": "text"},
        {"data": 5},
    ],
)
def test_never_writes_what_it_cannot_read(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="flights/02"):
        encode_entry(replace(PLAIN, **change))


@pytest.mark.parametrize(
    ("column", "value"), [("size", -1), ("address_type", 3), ("mtime", 2**62), ("size", None), ("identity", None)]
)
def test_never_writes_columns_it_cannot_read(column: str, value: int | None) -> None:
    table = table_of([FULL, PLAIN])
    at = table.schema.get_field_index(column)
    changed = pa.chunked_array([table.column(at).slice(0, 1), pa.array([value], table.schema.field(at).type)])
    with pytest.raises(InvalidInput, match="flights/02"):
        encode_records(table.set_column(at, table.schema.field(at), changed))
