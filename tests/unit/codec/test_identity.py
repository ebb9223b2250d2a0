"""The identity: golden bytes, what it covers, and that a column's equal one by one's."""

from __future__ import annotations

import hashlib
import struct
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from graveler_core.codec.identity import identities, identity
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import AddressType, Entry
from tests.unit.codec.entry_examples import FULL, PLAIN, entries, recut, table_of


def test_what_is_hashed() -> None:
    colour, owner = struct.pack("<II", 6, 4) + "colourräd".encode(), struct.pack("<II", 5, 3) + b"ownerann"
    header = struct.pack("<BBbhq5I", 1, 0b1111_0100, 1, -7, 1234, 0, 8, 21, len(colour + owner), 2)
    tail = uuid.UUID(int=5).bytes + b"d41d8cd9" + b"application/x-parquet" + colour + owner + b"\0x"
    assert identity(FULL) == hashlib.blake2b(header + tail, digest_size=32).digest()


def test_golden() -> None:
    assert identity(FULL).hex() == "2ad9bda1e4c42b74305c72e8a857f51ec3f7225c0ed1e942720e92dae1b64a2c"
    assert identity(PLAIN).hex() == "8f13d4b84364aaf41474aff2c07803ff799fad52e0074aafe7cf1860c817b59d"


@pytest.mark.parametrize(
    "change",
    [
        {"size": 1235},
        {"checksum": "d41d8cd8"},
        {"content_type": None},
        {"metadata": {}},
        {"metadata": {"owner": "ann", "colour": "red"}},
        {"data": b""},
        {"data": None},
        {"payload": 7},
        {"content_id": None},
        {"address_type": AddressType.FULL},
    ],
)
def test_covers(change: dict[str, Any]) -> None:
    assert identity(replace(FULL, **change)) != identity(FULL)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "elsewhere"},
        {"mtime": datetime(2020, 1, 1, tzinfo=UTC)},
        {"address": "data/other"},
        {"metadata": {"colour": "räd", "owner": "ann"}},
        {"identity": b"i" * 32},
    ],
)
def test_leaves_out(change: dict[str, Any]) -> None:
    assert identity(replace(FULL, **change)) == identity(FULL)


@pytest.mark.parametrize("checksum", [None, ""])
def test_address_counts_without_a_checksum(checksum: str | None) -> None:
    here = replace(FULL, checksum=checksum)
    assert identity(here) != identity(replace(here, address="data/other"))


def test_fields_do_not_run_into_each_other() -> None:
    assert identity(Entry(checksum="ab", content_type="c")) != identity(Entry(checksum="a", content_type="bc"))


@given(entries, entries)
def test_columns_equal_single_entries(one: Entry, other: Entry) -> None:
    rows: list[Entry | None] = [one, other, one]
    table = recut(table_of(rows).drop_columns(["identity", "key"]), 1)
    assert identities(table).to_pylist() == [identity(one), identity(other), identity(one)]


def test_of_no_rows() -> None:
    assert len(identities(table_of([]))) == 0


@pytest.mark.parametrize(
    "change", [{"size": 2**63}, {"payload": 2**15}, {"checksum": "\ud800"}, {"metadata": {"a": "\ud800"}}]
)
def test_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="flights/01"):
        identity(replace(FULL, **change))
