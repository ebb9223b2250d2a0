"""Canonical metadata: golden bytes, one form only, and columns equal to single maps."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.metadata_map import MAP_TYPE, decode_map, decode_maps, encode_map, encode_maps
from graveler_core.errors import CorruptData, InvalidInput
from tests.unit.codec.entry_examples import texts

maps = st.lists(st.none() | st.dictionaries(texts, texts, max_size=5), max_size=6)


def name(row: int) -> str:
    return f"row {row}"


def column(rows: list[dict[str, str] | None]) -> pa.Array:
    return pa.array([None if row is None else list(row.items()) for row in rows], MAP_TYPE)


def test_golden() -> None:
    blob = b"\1\0\0\0\2\0\0\0azz" + b"\2\0\0\0\0\0\0\0b\n"
    assert encode_map({"b\n": "", "a": "zz"}, "m") == blob
    assert decode_map(blob, "m") == {"a": "zz", "b\n": ""}
    assert encode_map({}, "m") is None


@given(maps)
def test_columns_equal_single_maps(rows: list[dict[str, str] | None]) -> None:
    blobs = encode_maps(column(rows), name)
    assert blobs.to_pylist() == [encode_map(row or {}, "m") for row in rows]
    decoded = decode_maps(blobs, name)
    decoded.validate(full=True)
    assert decoded.type == MAP_TYPE
    assert [dict(row or ()) for row in decoded.to_pylist()] == [row or {} for row in rows]
    assert decoded.is_valid().to_pylist() == [bool(row) for row in rows]


@given(maps, st.integers(0, 5))
def test_slices(rows: list[dict[str, str] | None], start: int) -> None:
    expected = [encode_map(row or {}, "m") for row in rows[start:]]
    blobs = encode_maps(column(rows).slice(start), name)
    assert blobs.to_pylist() == expected
    whole = encode_maps(column(rows), name).slice(start)
    assert encode_maps(decode_maps(whole, name), name).to_pylist() == expected


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=3))
def test_any_bytes_are_decoded_alike_or_refused(blobs: list[bytes]) -> None:
    def one(blob: bytes) -> dict[str, str] | None:
        try:
            return decode_map(blob, "m") if blob else None
        except CorruptData:
            return None

    single = [one(blob) for blob in blobs]
    try:
        together = [dict(row) for row in decode_maps(pa.array(blobs, pa.binary()), name).to_pylist()]
    except CorruptData:
        assert None in single
    else:
        assert together == single


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\1\0\0\0\1\0\0",
        b"\1\0\0\0\2\0\0\0ab",
        b"\xff\xff\xff\xff\xff\xff\xff\xffab",
        b"\1\0\0\0\0\0\0\0b\1\0\0\0\0\0\0\0a",
        b"\1\0\0\0\0\0\0\0a\1\0\0\0\0\0\0\0a",
        b"\1\0\0\0\0\0\0\0\xff",
        b"\0\0\0\0\1\0\0\0\xff",
    ],
)
def test_names_the_corrupt_row(blob: bytes) -> None:
    good = encode_map({"a": "b"}, "m")
    with pytest.raises(CorruptData, match="row 2"):
        decode_maps(pa.array([good, None, blob, good]), name)
    if blob:
        with pytest.raises(CorruptData, match="m: "):
            decode_map(blob, "m")


def test_refuses_a_key_twice_nulls_and_other_types() -> None:
    good = [("a", "1")]
    with pytest.raises(InvalidInput, match=r"row 1.*twice"):
        encode_maps(pa.array([good, [("b", "1"), ("a", ""), ("b", "2")]], MAP_TYPE), name)
    with pytest.raises(InvalidInput, match=r"row 1.*null"):
        encode_maps(pa.array([good, [("b", None)]], MAP_TYPE), name)
    with pytest.raises(InvalidInput, match="map of text"):
        encode_maps(pa.array([1]), name)
    with pytest.raises(InvalidInput, match="m: "):
        encode_map({"a": 1}, "m")  # type: ignore[dict-item]


def test_bytes_under_nulls_are_left_out() -> None:
    good = encode_map({"a": "b"}, "m") or b""
    offsets = pa.array([0, len(good), len(good) + 2, 2 * len(good) + 2], pa.int32()).buffers()[1]
    hiding = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(b"\5"), offsets, pa.py_buffer(good + b"??" + good)])
    assert decode_maps(hiding, name).to_pylist() == [[("a", "b")], None, [("a", "b")]]
