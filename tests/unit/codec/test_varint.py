"""Numbers come back, each from one form alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.varint import MAX_BYTES, decode_varint, encode_varint

LIMIT = 1 << 7 * MAX_BYTES


@pytest.mark.parametrize(
    ("number", "data"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2"), (LIMIT - 1, b"\xff\xff\xff\xff\x7f")],
)
def test_golden(number: int, data: bytes) -> None:
    assert encode_varint(number) == data
    assert decode_varint(b"x" + data + b"x", 1) == (number, 1 + len(data))


@given(st.integers(0, LIMIT - 1))
def test_numbers_come_back(number: int) -> None:
    data = encode_varint(number)
    assert decode_varint(data, 0) == (number, len(data))


@given(st.binary(max_size=8))
def test_there_is_one_form(data: bytes) -> None:
    found = None
    try:
        found = decode_varint(data, 0)
    except (IndexError, ValueError):
        assert len(data) == 0 or data[0] > 127
    assert found is None or encode_varint(found[0]) == data[: found[1]]


@pytest.mark.parametrize("data", [b"\x80\0", b"\x81\x80\0", b"\x80\0\1", b"\xff\xff\xff\xff\xff\1", b"\x80" * 5])
def test_refuses_other_forms(data: bytes) -> None:
    with pytest.raises(ValueError, match="shortest"):
        decode_varint(data, 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff"])
def test_refuses_what_is_cut_off(data: bytes) -> None:
    with pytest.raises(IndexError):
        decode_varint(data, 0)
