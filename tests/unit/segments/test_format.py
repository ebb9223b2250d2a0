"""Segments read back as they were written; damage is named."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import CorruptData, Kind
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.segments.format import PartedFile, Parts, decode, decode_parts, encode
from tests.unit.segments.samples import CHANGES, STATES, Changes, State, entries, records

SAMPLE = bytes(encode(entries({b"%03d" % n: n for n in range(50)})))


@given(state=STATES, offset=st.integers(0, 3))
def test_entries_read_as_they_were_written(state: State, offset: int) -> None:
    table = entries(state).slice(offset)
    read = decode(encode(table), ENTRY_SCHEMA, "here")
    assert read.equals(table)
    assert read.schema.equals(ENTRY_SCHEMA)


@given(changes=CHANGES, rows=st.integers(1, 20))
def test_records_with_tombstones_read_as_they_were_written(changes: Changes, rows: int) -> None:
    table = records(changes)
    data = encode(table, row_group_rows=rows)
    assert decode(data, RECORD_SCHEMA, "here").equals(table)


def test_whole_tables_come_in_one_chunk() -> None:
    read = decode(encode(entries({b"%03d" % n: n for n in range(50)}), row_group_rows=7), ENTRY_SCHEMA, "here")
    assert {read.column(name).num_chunks for name in read.column_names} == {1}


def test_parts_are_the_table() -> None:
    table = entries({b"%03d" % n: n for n in range(50)})
    data = encode(table, row_group_rows=20)
    assert list(decode_parts(data, ENTRY_SCHEMA, "here")) == [table.slice(at, 20) for at in (0, 20, 40)]
    sizes = decode_parts(data, ENTRY_SCHEMA, "here", ["size"])
    assert pa.concat_tables(sizes).combine_chunks() == table.select(["size"])
    with pytest.raises(CorruptData, match="columns are"):
        next(decode_parts(data, pa.schema([("other", pa.string())]), "here"))
    damaged = bytearray(data)
    damaged[10] ^= 0xFF
    with pytest.raises(CorruptData, match="here"):
        list(decode_parts(damaged, ENTRY_SCHEMA, "here"))


def test_some_columns_read_as_all_would() -> None:
    every = decode(SAMPLE, ENTRY_SCHEMA, "here")
    for columns in (["key"], ["key", "identity"], ["key", "metadata", "content_id"], ENTRY_SCHEMA.names):
        assert decode(SAMPLE, ENTRY_SCHEMA, "here", columns).equals(every.select(columns))


def test_some_columns_of_another_table_are_refused() -> None:
    other = bytes(encode(records({b"a": 1})))
    with pytest.raises(CorruptData, match="tombstone"):
        decode(other, ENTRY_SCHEMA, "here", ["key", "identity"])


def test_entries_of_72_kib_are_no_special_case() -> None:
    table = entries({b"a": 2, b"b": 2}).set_column(
        9, ENTRY_SCHEMA.field("data"), pa.array([bytes(70_000), b"\xff" * 70_000])
    )
    assert decode(encode(table), ENTRY_SCHEMA, "here").equals(table)


def test_other_engines_read_the_file() -> None:
    frame = pl.read_parquet(io.BytesIO(SAMPLE))
    assert frame["key"].to_list() == [b"%03d" % n for n in range(50)]
    assert frame["size"].sum() == sum(range(50))


def test_keys_are_delta_encoded_and_nothing_of_the_writer_is_kept() -> None:
    column = pq.ParquetFile(io.BytesIO(SAMPLE)).metadata.row_group(0).column(0)
    assert (column.path_in_schema, column.compression) == ("key", "ZSTD")
    assert "DELTA_BYTE_ARRAY" in column.encodings
    assert pq.ParquetFile(io.BytesIO(SAMPLE)).metadata.metadata is None


@given(position=st.floats(0, 1, exclude_max=True), junk=st.binary(max_size=30))
def test_damage_is_named_or_harmless(position: float, junk: bytes) -> None:
    at = int(position * len(SAMPLE))
    data = SAMPLE[:at] + junk + SAMPLE[at + len(junk) :]
    found = None
    try:
        assert decode(data, ENTRY_SCHEMA, "a/segment").schema.equals(ENTRY_SCHEMA)
    except CorruptData as e:
        found = e
    if found is not None:
        assert (found.kind, found.details) == (Kind.CorruptRange, {"address": "a/segment"})
        assert "a/segment" in str(found)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        SAMPLE[:-1],
        SAMPLE[: len(SAMPLE) // 2],
        bytes(encode(records({b"a": 1}))),
        bytes(encode(entries({b"a": 1}).drop_columns(["content_type"]).append_column("content_type", [["x"]]))),
    ],
    ids=["empty", "magic", "cut", "half", "records", "order"],
)
def test_what_is_no_segment_of_entries_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptData, match="a/segment"):
        decode(data, ENTRY_SCHEMA, "a/segment")


def test_a_damaged_page_is_found_by_its_checksum() -> None:
    at = SAMPLE.index(entries({b"a": 7})["identity"][0].as_py()) + 5
    data = SAMPLE[:at] + bytes([SAMPLE[at] ^ 1]) + SAMPLE[at + 1 :]
    with pytest.raises(CorruptData, match="CRC"):
        decode(data, ENTRY_SCHEMA, "a/segment")


def test_no_room_is_made_for_lists_that_are_longer_than_the_file() -> None:
    footer = len(SAMPLE) - 8 - int.from_bytes(SAMPLE[-8:-4], "little")
    schema = SAMPLE.index(b"\x19", footer) + 1
    assert SAMPLE[schema] == 0xFC, "a list of structures whose length follows"
    longer = SAMPLE[footer:schema] + b"\xfc\xbf\x84\x3d" + SAMPLE[schema + 2 : -8]
    data = SAMPLE[:footer] + longer + len(longer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(CorruptData, match="size limit"):
        decode(data, ENTRY_SCHEMA, "a/segment")


def test_row_groups_with_other_rows_than_the_file_are_refused() -> None:
    rows = b"\x16\x64\x26\x08"  # the row group's field of 64 bits: 50; the next: it begins at 4
    assert SAMPLE.count(rows) == 1
    with pytest.raises(CorruptData, match="do not have 50 rows"):
        decode(SAMPLE.replace(rows, b"\x16\x66\x26\x08"), ENTRY_SCHEMA, "a/segment")


def test_nulls_where_there_must_be_none_are_corrupt() -> None:
    nullable = pa.schema([field.with_nullable(True) for field in ENTRY_SCHEMA])
    table = pa.Table.from_pylist([{"key": b"a"}], schema=nullable)
    with pytest.raises(CorruptData, match="a/segment"):
        decode(encode(table), ENTRY_SCHEMA, "a/segment")


@pytest.mark.parametrize("columns", [["key", "identity"], ENTRY_SCHEMA.names])
def test_each_part_reads_as_its_rows(columns: list[str]) -> None:
    table = entries({b"%03d" % n: n for n in range(50)})
    data = encode(table, row_group_rows=20)
    file = PartedFile(data, ENTRY_SCHEMA, "here")
    assert file.parts() == Parts(b"000", [b"019", b"039", b"049"], 50)
    for part, start in enumerate((0, 20, 40)):
        read = file.decode(part, columns)
        assert read.equals(table.slice(start, 20).select(columns))
        assert read.column("key").num_chunks == 1


def test_a_file_of_one_part_has_no_bounds() -> None:
    assert PartedFile(SAMPLE, ENTRY_SCHEMA, "here").parts() is None


def test_a_file_without_statistics_has_no_bounds() -> None:
    sink = io.BytesIO()
    pq.write_table(entries({b"a": 1, b"b": 2}), sink, row_group_size=1, write_statistics=False, store_schema=False)
    assert PartedFile(sink.getvalue(), ENTRY_SCHEMA, "here").parts() is None


def test_a_key_that_is_too_long_for_statistics_leaves_no_bounds() -> None:
    assert (
        PartedFile(encode(entries({b"a" * 5_000: 1, b"b": 2}), row_group_rows=1), ENTRY_SCHEMA, "here").parts() is None
    )


def test_a_damaged_part_is_named() -> None:
    data = bytearray(encode(entries({b"%03d" % n: n for n in range(50)}), row_group_rows=20))
    data[60] ^= 255
    file = PartedFile(bytes(data), ENTRY_SCHEMA, "here")
    with pytest.raises(CorruptData, match="segment here"):
        file.decode(0, ENTRY_SCHEMA.names)


def test_a_file_with_other_columns_has_no_parts() -> None:
    with pytest.raises(CorruptData, match="columns are"):
        PartedFile(encode(records({b"a": 1})), ENTRY_SCHEMA, "here")
