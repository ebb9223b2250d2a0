"""Staged rows become staged records, in order, a page at a time; broken ones are told one by one."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lifecycle.sources import entry
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE, AddressType
from graveler_core.transfer.lakefs.entries import BY_PREFIX, FULL, RELATIVE
from graveler_core.transfer.lakefs.messages import EntryMessage
from graveler_core.transfer.migration import entries
from graveler_core.transfer.migration.source import Row

HOME = "s3://bucket/lake"


def taken(rows: list[Row], home: str = HOME) -> tuple[list[pa.Table], list[tuple[object, str]]]:
    broken: list[tuple[object, str]] = []
    return list(entries.tables(rows, home, lambda key, rule: broken.append((key, rule)))), broken


def one(data: bytes) -> dict[str, object]:
    (table,), broken = taken([(b"k", b"i", data)])
    assert broken == []
    (row,) = table.to_pylist()
    return dict(row)


def test_an_entry_of_everything() -> None:
    row = one(entry(7))
    assert (row["address"], row["address_type"], row["size"]) == ("data/7", AddressType.RELATIVE, 7)
    assert (row["checksum"], row["content_type"], row["metadata"]) == ("sum7", "text/plain", [("n", "7")])
    assert row["payload"] == 0
    assert row["identity"] != b"i"


def test_an_entry_of_little() -> None:
    row = one(bytes(EntryMessage(address="a", address_type=RELATIVE).SerializeToString()))
    assert [row[name] for name in ("checksum", "mtime", "content_type", "metadata", "data")] == [None] * 5


def test_the_message_byte_by_byte() -> None:
    """As other programs write it; fields that a later version may have added are passed by."""
    data = b"\x0a\x01d\x12\x02\x08\x05\x18\x07\x22\x01e\x2a\x06\x0a\x01k\x12\x01v\x30\x02\x3a\x01t\x42\x01?"
    found = EntryMessage.FromString(data)
    assert (found.address, found.last_modified.seconds, found.size, found.e_tag) == ("d", 5, 7, "e")
    assert (dict(found.metadata), found.address_type, found.content_type) == ({"k": "v"}, FULL, "t")


@pytest.mark.parametrize(
    ("address", "kind", "expected"),
    [
        ("data/x", RELATIVE, ("data/x", AddressType.RELATIVE)),
        ("data/x", BY_PREFIX, ("data/x", AddressType.RELATIVE)),
        ("s3://other//x", BY_PREFIX, ("s3://other/x", AddressType.FULL)),
        ("s3://bucket/lake/data/x", FULL, ("data/x", AddressType.RELATIVE)),
        ("s3://bucket//lake/./data/x", FULL, ("data/x", AddressType.RELATIVE)),
        ("s3://bucket/lakeside/x", FULL, ("s3://bucket/lakeside/x", AddressType.FULL)),
        ("s3://bucket/x", FULL, ("s3://bucket/x", AddressType.FULL)),
    ],
)
def test_addresses(address: str, kind: int, expected: tuple[str, AddressType]) -> None:
    row = one(entry(1, address, kind))
    assert (row["address"], row["address_type"]) == expected


def test_a_namespace_that_is_a_bucket() -> None:
    tables, _ = taken([(b"k", b"i", entry(1, "s3://bucket/data/x", FULL))], "s3://bucket")
    assert tables[0]["address"].to_pylist() == ["data/x"]


def test_times_that_are_none() -> None:
    message = EntryMessage(address="a", address_type=RELATIVE)
    message.last_modified.seconds = 1 << 60
    tables, broken = taken([(b"k", b"i", message.SerializeToString())])
    assert not tables
    assert "outside the years 1 to 9999" in broken[0][1]


@given(st.dictionaries(st.binary(max_size=3), st.integers(-1, 3), max_size=30), st.integers(1, 7))
def test_broken_rows_leave_the_others_alone(drawn: dict[bytes, int], page: int) -> None:
    """Keys of any bytes; -1 is no entry, 0 a tombstone."""

    def rows() -> Iterator[Row]:
        for key, number in sorted(drawn.items()):
            yield (key, None, None) if number == 0 else (key, b"i", b"\xff" if number < 0 else entry(number))

    with patch.object(entries, "PAGE_ROWS", page):
        tables, broken = taken(list(rows()))
    found = [row for table in tables for row in table.to_pylist()]
    good = {key for key, number in drawn.items() if number >= 0 and _is_path(key)}
    assert [row["key"] for row in found] == sorted(good)
    assert sorted(str(key) for key, _ in broken) == sorted(str(key) for key in drawn.keys() - good)
    assert all(table.schema == RECORD_SCHEMA and table.num_rows for table in tables)
    assert [row[TOMBSTONE] for row in found] == [drawn[row["key"]] == 0 for row in found]


def _is_path(key: bytes) -> bool:
    try:
        return bool(key) and "\0" not in key.decode()
    except UnicodeDecodeError:
        return False


def test_keys_that_come_twice() -> None:
    tables, broken = taken([(b"a", None, None), (b"a", None, None), (b"b", None, None)])
    assert [key for key, _ in broken] == [b"a"]
    assert sum(table.num_rows for table in tables) == 2
