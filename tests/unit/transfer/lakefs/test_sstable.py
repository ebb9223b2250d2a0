"""Tables that lakeFS and Pebble wrote are read completely; damaged ones are refused."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import CorruptData
from graveler_core.transfer.lakefs.sstable import INDEX_TYPE, TWO_LEVELS, SortedTable
from tests.foreign import fixtures
from tests.unit.transfer.lakefs.tables import SET, block, footer, sealed, stored, table, varint

REMOVED = 0
FILES = [fixtures.TWO_LEVELS, *fixtures.TABLES[::7]]


@pytest.mark.parametrize("path", fixtures.TABLES, ids=lambda path: path.name[:8])
def test_every_table_of_lakefs_has_the_entries_that_its_properties_state(path: Path) -> None:
    found = SortedTable(path.read_bytes(), path.name)
    entries = list(found)
    said = {name: found.properties[name].decode() for name in (b"count", b"min_key", b"max_key")}
    assert said == {
        b"count": str(len(entries)),
        b"min_key": entries[0][0].decode(),
        b"max_key": entries[-1][0].decode(),
    }


def test_an_index_of_two_levels() -> None:
    found = SortedTable(fixtures.TWO_LEVELS.read_bytes(), "two levels")
    assert found.properties[INDEX_TYPE] == TWO_LEVELS
    assert list(found) == [(b"key/%05d" % n, b"value %d of many" % n) for n in range(400)]


@given(
    st.dictionaries(st.binary(max_size=6), st.binary(max_size=40), max_size=30), st.integers(0, 1), st.integers(1, 7)
)
def test_any_entries_come_back(drawn: dict[bytes, bytes], compression: int, most: int) -> None:
    entries = sorted(drawn.items())
    assert list(SortedTable(table(entries, compression=compression, most=most), "drawn")) == entries


@given(st.sampled_from(FILES), st.data())
def test_a_changed_byte_is_noticed_or_means_nothing(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    with suppress(CorruptData):
        assert list(SortedTable(bytes(changed), path.name)) == list(SortedTable(whole, path.name))


@given(st.sampled_from(FILES), st.data())
def test_a_truncated_table_is_refused(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    with pytest.raises(CorruptData):
        list(SortedTable(whole[: data.draw(st.integers(0, len(whole) - 1))], path.name))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_table_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptData):
        SortedTable(data, "no table")


def test_keys_out_of_order_are_refused() -> None:
    with pytest.raises(CorruptData, match=r"key b'a' is out of order"):
        list(SortedTable(table([(b"b", b""), (b"a", b"")]), "x"))


def test_a_removal_is_refused() -> None:
    with pytest.raises(CorruptData, match="does not set a value"):
        list(SortedTable(table([(b"a", b"")], kind=REMOVED), "x"))
    assert list(SortedTable(table([(b"a", b"")], kind=SET), "x")) == [(b"a", b"")]


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(CorruptData, match="unknown compression 7"):
        list(SortedTable(table([(b"a", b"")], compression=7), "x"))


def _of_index(content: bytes, compression: int = 0) -> bytes:
    """A table whose index is this block."""
    file = bytearray()
    metaindex = stored(file, block([]), 0)
    handle = varint(len(file)) + varint(len(content))
    return bytes(file) + sealed(content, compression) + footer(metaindex, handle)


def test_a_block_that_claims_to_be_huge_is_refused_before_it_is_uncompressed() -> None:
    with pytest.raises(CorruptData, match="claims 1,099,511,627,776 bytes"):
        list(SortedTable(_of_index(varint(1 << 40) + b"x" * 20, compression=1), "x"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no end"),
        (b"\xff\xff\xff\xff", "4,294,967,295 restart points"),
        (b"\x05\x01\x01ab" + bytes(8), "longer than its block"),
        (b"\x00\x7f\x01ab" + bytes(8), "longer than its block"),
        (b"\xff" * 11 + bytes(4), "no number"),
        (block([(b"a" * 9, varint(1 << 50) + b"\x05")]), "after the end of the file"),
        (block([(b"a" * 9, b"")]), "no number"),
    ],
    ids=["empty", "restarts", "shared", "further", "number", "handle", "no-handle"],
)
def test_a_malformed_index_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(CorruptData, match=why):
        list(SortedTable(_of_index(content), "x"))
