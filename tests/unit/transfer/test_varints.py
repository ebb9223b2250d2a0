"""Numbers come back, whatever follows them; what is no number is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.transfer.varints import signed, unsigned
from tests.unit.transfer.lakefs.tables import varint


@given(st.binary(max_size=3), st.integers(0, (1 << 64) - 1), st.binary(max_size=3))
def test_numbers_come_back(before: bytes, number: int, after: bytes) -> None:
    encoded = varint(number)
    assert unsigned(before + encoded + after, len(before)) == (number, len(before) + len(encoded))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_signed_numbers_come_back(number: int) -> None:
    encoded = varint(2 * number if number >= 0 else -2 * number - 1)
    assert signed(encoded, 0) == (number, len(encoded))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9, b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"])
def test_what_is_no_number_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no number at byte 0"):
        unsigned(data, 0)
