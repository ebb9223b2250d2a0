"""Content hashes: golden, blind to how rows are stored, and to nothing else."""

from __future__ import annotations

import hashlib
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.content_hash import ContentHash, hex_id
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, Entry
from tests.unit.codec.entry_examples import FULL, PLAIN, records, recut, table_of

SMALL = pa.schema([("text", pa.string()), ("number", pa.int16())])


def digest(table: pa.Table, schema: pa.Schema = RECORD_SCHEMA, tag: bytes = b"range") -> str:
    content = ContentHash(tag, schema)
    content.update(table)
    return content.hexdigest()


def small(texts: list[str | None], numbers: list[int | None]) -> str:
    return digest(pa.table({"text": texts, "number": numbers}, schema=SMALL), SMALL)


def test_golden() -> None:
    assert hex_id(b"graveler") == "e6e956da2d930fcc6df0193c675ac29c61d795f2d5cc5f15d8b330efd9468faf"
    nothing = "c18ae2fb7db778644f0b4e2ac21b91af60116b658814758faf5e5685fe71e217"
    assert digest(ENTRY_SCHEMA.empty_table(), ENTRY_SCHEMA) == nothing
    rows = table_of([FULL, PLAIN]).append_column("ignored", [[1, 2]])
    assert digest(rows) == "ee5107d5fd184969bd2a0522eef249bd835e7efcaaeeaa153a77ed8702604ab4"


def test_what_is_hashed() -> None:
    def blake(data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=32).digest()

    text = struct.pack("<HB", 4, 5) + b"textbytes" + blake(struct.pack("<3I", 2, 0xFFFFFFFF, 1)) + blake(b"abc")
    number = struct.pack("<HB", 6, 2) + b"numberf2" + blake(b"\1\1\0") + blake(struct.pack("<3h", 7, -1, 0))
    expected = blake(struct.pack("<BB", 1, 5) + b"range" + struct.pack("<Q", 3) + text + number)
    assert small(["ab", None, "c"], [7, -1, None]) == expected.hex()


@given(records, st.integers(0, 6))
def test_blind_to_chunks_and_slices(rows: list[Entry | None], cut: int) -> None:
    table = table_of(rows)
    pieces = ContentHash(b"range", RECORD_SCHEMA)
    for batch in recut(table, cut).to_batches():
        pieces.update(batch)
    assert digest(table) == digest(recut(table, cut)) == pieces.hexdigest()


@given(records, records)
def test_equal_only_for_equal_rows(rows: list[Entry | None], others: list[Entry | None]) -> None:
    one, other = table_of(rows), table_of(others)
    assert (digest(one) == digest(other)) == one.equals(other)


def test_blind_to_what_nulls_hide() -> None:
    offsets, data = pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"xyz")
    hiding = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\2"), offsets, data])
    numbers = pa.Array.from_buffers(pa.int16(), 2, [pa.py_buffer(b"\2"), pa.py_buffer(b"\7\7\1\0")])
    assert digest(pa.table({"text": hiding, "number": numbers}), SMALL) == small([None, "z"], [None, 1])


def test_blind_to_wider_types_and_order_of_columns() -> None:
    table = pa.table({"number": pa.array([3], pa.int64()), "text": pa.array(["a"], pa.large_string())})
    dictionary = pa.table({"number": [3], "text": pa.array(["a"]).dictionary_encode()})
    assert digest(table, SMALL) == digest(dictionary, SMALL) == small(["a"], [3])


def test_blind_to_the_order_and_kind_of_maps() -> None:
    schema = pa.schema([("map", pa.map_(pa.string(), pa.string()))])
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    one = pa.table({"map": pa.array([[("a", "1"), ("b", "2")], None], schema.field(0).type)})
    other = pa.table({"map": pa.array([[{"key": "b", "value": "2"}, {"key": "a", "value": "1"}], []], pairs)})
    assert digest(one, schema) == digest(other, schema)


def test_null_is_not_empty_and_rows_do_not_run_together() -> None:
    ways = [
        small([None], [0]),
        small([""], [0]),
        small([""], [None]),
        small(["ab", "c"], [0, 0]),
        small(["a", "bc"], [0, 0]),
        small(["a", "bc", ""], [0, 0, 0]),
    ]
    assert len(set(ways)) == len(ways)


def test_names_tags_and_absence_of_rows_count() -> None:
    other = pa.schema([("label", pa.string()), ("number", pa.int16())])
    ways = [
        digest(SMALL.empty_table(), SMALL),
        digest(other.empty_table(), other),
        digest(SMALL.empty_table(), SMALL, b"operations"),
        digest(SMALL.empty_table(), pa.schema(list(SMALL)[:1])),
    ]
    assert len(set(ways)) == len(ways)


def test_refuses_missing_columns_and_wrong_types() -> None:
    with pytest.raises(InvalidInput, match="'number'"):
        digest(pa.table({"text": ["a"]}), SMALL)
    with pytest.raises(InvalidInput, match="'number'"):
        digest(pa.table({"text": ["a"], "number": [1 << 20]}), SMALL)
    with pytest.raises(InvalidInput, match="'nested'"):
        ContentHash(b"range", pa.schema([("nested", pa.list_(pa.int8()))]))
