"""Entries as rows and back, and what `normalise` makes of a user's table."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.entry import entries, entry_from_row, normalise, normalise_entry, record_table, tombstone_table
from graveler_core.codec.identity import identity
from graveler_core.errors import GravelerError, InvalidInput, Kind, LimitExceeded
from graveler_core.model.address import full_address
from graveler_core.model.entry import ENTRY_SCHEMA, MAX_RECORD_BYTES, RECORD_SCHEMA, AddressType, Entry
from tests.unit.codec import entry_examples as examples
from tests.unit.codec.entry_examples import FULL, PLAIN, recut, table_of

addresses = (
    st.none()
    | st.text("ab./\\%2F\0é~:", max_size=8)
    | st.builds(
        "{}://{}".format, st.sampled_from(["s3", "file", "gs", "ftp", "S3"]), st.text("ab./%2F?#@é_-~", max_size=9)
    )
)
given_entries = st.builds(
    replace,
    examples.entries,
    address=addresses,
    size=st.integers(-1, 3),
    data=st.none() | st.binary(max_size=3),
)


def outcome(make: Callable[[], Any]) -> Any:
    """What a call gives, or the kind of what it raises."""
    try:
        return make()
    except GravelerError as e:
        return type(e), e.kind


def normal(**columns: Any) -> list[Entry]:
    return list(entries(normalise(pa.table(columns))))


@pytest.mark.parametrize("keys", [[], [b"a"], [b"b", b"a", "é".encode(), b"\xff"]])
def test_rows_of_tombstones_are_those_of_entries_that_are_not_there(keys: list[bytes]) -> None:
    assert tombstone_table(keys).equals(record_table([(key, None) for key in keys]))


def test_rows_of_entries() -> None:
    table = record_table([(b"flights/01.parquet", FULL), (b"gone", None)])
    assert table.schema == RECORD_SCHEMA
    full, gone = table.to_pylist()
    assert full["key"] == b"flights/01.parquet"
    assert full["identity"] == identity(FULL)
    assert full["metadata"] == [("colour", "räd"), ("owner", "ann")]
    assert full["content_id"] == uuid.UUID(int=5).bytes
    assert not full["tombstone"]
    assert gone == dict.fromkeys(ENTRY_SCHEMA.names) | {"key": b"gone", "tombstone": True}


def test_a_given_identity_is_kept() -> None:
    assert record_table([(b"k", replace(PLAIN, identity=b"i" * 32))])["identity"].to_pylist() == [b"i" * 32]


@pytest.mark.parametrize(
    "change", [{"size": "1"}, {"payload": 1 << 15}, {"mtime": datetime(2020, 1, 1)}, {"address": 5}]
)
def test_rows_refuse(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        record_table([(b"k", replace(PLAIN, identity=b"i" * 32, **change))])


@given(st.lists(examples.entries, max_size=5), st.integers(0, 5))
def test_entries_come_back(rows: list[Entry], cut: int) -> None:
    table = recut(table_of(list(rows)), cut)
    expected = [replace(row, identity=identity(row)) for row in rows]
    assert list(entries(table)) == expected
    assert list(entries(table.drop_columns(["tombstone"]))) == expected
    assert [entry_from_row(table.columns, i) for i in range(len(rows))] == expected


def test_tombstones_are_left_out() -> None:
    assert [entry.path for entry in entries(table_of([None, PLAIN, None]))] == [PLAIN.path]


def test_times_are_in_utc() -> None:
    (entry,) = entries(table_of([FULL]))
    assert entry.mtime is not None
    assert entry.mtime.tzinfo is UTC


@given(given_entries, examples.paths | st.sampled_from(["", "a\0b", "x" * 1001]))
def test_one_entry_and_a_table_are_judged_alike(entry: Entry, path: str) -> None:
    columns = [column for column in RECORD_SCHEMA.names if column != "tombstone"]
    table = record_table([(path.encode(), replace(entry, identity=b"?" * 32))]).select(columns)
    single = outcome(lambda: normalise_entry(path, entry))
    assert outcome(lambda: list(entries(normalise(table)))) == ([single] if isinstance(single, Entry) else single)


@given(st.lists(st.tuples(examples.paths, examples.texts), unique_by=lambda row: row[0], max_size=8))
def test_sorts_and_is_idempotent(rows: list[tuple[str, str]]) -> None:
    table = pa.table(
        {"key": pa.array([path for path, _ in rows], pa.string()), "checksum": pa.array([text for _, text in rows])}
    ).append_column("address", pa.array(["a"] * len(rows), pa.string()))
    once = normalise(table)
    once.validate(full=True)
    assert once.schema == RECORD_SCHEMA
    assert once["key"].to_pylist() == sorted(path.encode() for path, _ in rows)
    assert [(entry.path, entry.checksum) for entry in entries(once)] == sorted(rows, key=lambda row: row[0].encode())
    assert normalise(once.drop_columns(["tombstone"])).equals(once)


def test_defaults() -> None:
    relative, inline = normal(key=["a", "b"], address=["x", None], data=[None, b"abc"])
    assert relative == Entry(address="x", path="a", identity=identity(Entry(address="x")))
    assert (inline.address_type, inline.size, inline.data) == (AddressType.INLINE, 3, b"abc")
    assert normalise_entry("b", Entry(data=b"abc")) == inline
    assert normalise(pa.table({"key": pa.array([], pa.string())})).equals(RECORD_SCHEMA.empty_table())


def test_types_that_cast() -> None:
    when = datetime(2013, 1, 31, 12, 30, 1, 5, tzinfo=UTC)
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    (entry,) = normal(
        payload=pa.array([7], pa.int64()),
        key=pa.array(["k"]).dictionary_encode(),
        address=pa.array(["x"], pa.large_string()),
        size=pa.array([3.0]),
        checksum=pa.array(["c"]).cast(pa.string_view()),
        mtime=pa.array([when], pa.timestamp("us", tz="Europe/Berlin")),
        content_type=pa.array([b"t"]),
        metadata=pa.array([[{"key": "b", "value": "2"}, {"key": "a", "value": "1"}]], pairs),
        data=pa.array([b"d"], pa.large_binary()),
        content_id=pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16))),
        address_type=pa.array([1], pa.uint8()),
        identity=["not believed"],
    )
    expected = Entry("x", 3, "c", when, "t", {"a": "1", "b": "2"}, b"d", 7, uuid.UUID(int=0), path="k")
    assert entry == replace(expected, identity=identity(expected))


def test_rows_that_are_removed_say_nothing_else() -> None:
    table = pa.table(
        {
            "key": ["c", "a", "b", "d"],
            "size": [-1, 2, 3, -4],
            "address": [None, "x", "y", "../z"],
            "metadata": pa.array([None, [("k", "v")], None, None], pa.map_(pa.string(), pa.string())),
            "removed": [True, False, None, True],
        }
    )
    made = normalise(table)
    made.validate(full=True)
    kept = normalise(table.filter(pa.array([False, True, True, False])).drop_columns(["removed"]))
    assert made.equals(pa.concat_tables([kept, tombstone_table([b"c", b"d"])]))
    assert normalise(table.filter(pa.array([True, False, False, True]))).equals(tombstone_table([b"c", b"d"]))


def test_times_without_zone_and_nanoseconds() -> None:
    naive, nano = pa.array([1_000], pa.timestamp("ms")), pa.array([1_000_000_999], pa.timestamp("ns", tz="UTC"))
    second = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert [normal(key=["k"], address=["x"], mtime=column)[0].mtime for column in (naive, nano)] == [second, second]


@given(st.lists(st.text("ab./%4~-_é\n:", max_size=10).map("s3://{}".format), min_size=1, max_size=5))
def test_full_addresses_get_one_spelling(uris: list[str]) -> None:
    def spelled() -> list[str | None]:
        table = pa.table({"key": list("abcde")[: len(uris)], "address": uris, "address_type": [2] * len(uris)})
        return [entry.address for entry in entries(normalise(table))]

    assert outcome(spelled) == outcome(lambda: [full_address(uri) for uri in uris])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"colour": ["x"]}, "'colour'"),
        ({"tombstone": [False]}, "'tombstone'"),
        ({"size": [-1]}, "'k'.*size"),
        ({"removed": ["perhaps"]}, "'removed'"),
        ({"key": [b"a\0"], "removed": [True]}, "NUL"),
        ({"size": [1.5]}, "'size'"),
        ({"size": ["many"]}, "'size'"),
        ({"payload": [1 << 15]}, "'payload'"),
        ({"address": ["../x"]}, "'../x'"),
        ({"address": [b"\xff"]}, "'address'"),
        ({"address": [None]}, "'k'.*address or data"),
        ({"address_type": [0]}, "'k'.*inline"),
        ({"address_type": [3]}, "'k'.*address_type"),
        ({"address": ["nowhere"], "address_type": [2]}, "'nowhere'"),
        ({"address": [None], "data": [b"abc"], "size": [4]}, "'k'.*inline data"),
        ({"mtime": pa.array([2**62], pa.timestamp("us"))}, "'k'.*mtime"),
        ({"content_id": [b"short"]}, "'content_id'"),
        ({"metadata": ["a=b"]}, "metadata"),
        ({"metadata": pa.array([[("a", "1"), ("a", "2")]], pa.map_(pa.string(), pa.string()))}, "'k'.*twice"),
    ],
)
def test_refuses_columns(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        normal(**({"key": ["k"], "address": ["x"]} | columns))


@pytest.mark.parametrize("key", [b"", b"a\0", b"\0", b"x" * 1001, b"\xff", None])
def test_refuses_keys(key: bytes | None) -> None:
    keys = pa.array([b"before", key, b"zz"], pa.binary())
    with pytest.raises(InvalidInput) as caught:
        normal(key=keys, address=["x"] * 3)
    assert caught.value.kind is (Kind.PathTooLong if key == b"x" * 1001 else Kind.InvalidPath)


def test_accepts_the_longest_key() -> None:
    assert normal(key=["x" * 1000, "é" * 500], address=["x", "x"])[0].path == "x" * 1000


@pytest.mark.parametrize("keys", [["a", "b", "b"], ["b", "a", "b"]])
def test_refuses_a_key_twice(keys: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"'b'.*more than once"):
        normal(key=keys, address=["x"] * 3)


def test_refuses_missing_and_doubled_columns() -> None:
    with pytest.raises(InvalidInput, match="'key'"):
        normal(address=["x"])
    doubled = pa.Table.from_arrays([pa.array(["a"]), pa.array(["x"]), pa.array(["y"])], ["key", "address", "address"])
    with pytest.raises(InvalidInput, match=r"'address'.*duplicated"):
        normalise(doubled)


@pytest.mark.parametrize("size", [MAX_RECORD_BYTES, 2 * MAX_RECORD_BYTES])
@pytest.mark.parametrize("before", ["a", "z"])
def test_refuses_large_records(size: int, before: str) -> None:
    data = b"x" * size
    with pytest.raises(LimitExceeded, match="'k'"):
        normal(key=[before, "k"], data=[b"", data])
    with pytest.raises(LimitExceeded, match="'k'"):
        normalise_entry("k", Entry(data=data))


def test_a_path_that_is_no_unicode() -> None:
    with pytest.raises(InvalidInput) as caught:
        normalise_entry("\ud800", PLAIN)
    assert caught.value.kind == Kind.InvalidPath
