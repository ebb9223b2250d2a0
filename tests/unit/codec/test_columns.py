"""Arrow columns read as numpy: slices, chunks, and what lies under nulls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from graveler_core.codec.columns import byte_rows, fixed_binary, fixed_rows, gather, pieces, slices, spans, with_nulls

HIDING = pa.Array.from_buffers(
    pa.binary(), 3, [pa.py_buffer(b"\5"), pa.py_buffer(np.array([0, 1, 3, 4], "<i4")), pa.py_buffer(b"abcd")]
)
"""b"a", a null over b"bc", b"d"."""


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()])
def test_bytes_of_slices(kind: pa.DataType) -> None:
    array = pa.array(["skip", "ab", None, "", "c"], kind).slice(1, 4)
    rows = byte_rows(array)
    assert rows.lengths.tolist() == [2, 0, 0, 1]
    assert rows.data.tobytes() == b"abc"
    assert rows.valid.tolist() == [True, False, True, True]
    assert spans(array)[0].tolist() == [0, 2, 2, 2, 3]


def test_bytes_under_nulls_are_left_out() -> None:
    assert HIDING.to_pylist() == [b"a", None, b"d"]
    assert byte_rows(HIDING).data.tobytes() == b"ad"
    assert byte_rows(HIDING.slice(1)).lengths.tolist() == [0, 1]


def test_no_rows() -> None:
    assert byte_rows(pa.array([], pa.binary())).lengths.tolist() == []
    assert fixed_rows(pa.array([], pa.binary(4))).tolist() == []
    assert gather(np.empty(0, np.uint8), np.empty(0, np.int64), 8).tolist() == []


def test_fixed_values_are_little_endian_and_zero_where_null() -> None:
    assert fixed_rows(pa.array([9, None, 258], pa.int16()).slice(1)).tobytes() == b"\0\0\2\1"
    assert fixed_rows(pa.array([None, True, False])).tobytes() == b"\0\1\0"
    assert fixed_rows(pa.array([1, None], pa.timestamp("us", tz="UTC"))).tolist() == [1, 0]
    assert fixed_rows(pa.array([b"xx", b"ab", None], pa.binary(2)).slice(1)).tobytes() == b"ab\0\0"


def test_pieces_and_gathering() -> None:
    data = np.frombuffer(b"abcdef", np.uint8)
    assert pieces(data, np.array([0, 2, 2, 6])).to_pylist() == [b"ab", b"", b"cdef"]
    assert gather(data, np.array([4, 0, 1]), 2).tobytes() == b"efabbc"
    assert fixed_binary(data.view("V2"), np.array([True, False, True])).to_pylist() == [b"ab", None, b"ef"]


def test_nulls_on_a_slice() -> None:
    array = pieces(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 1, 3])).slice(1)
    assert with_nulls(array, pa.string(), np.array([False, True])).to_pylist() == [None, "bc"]


def test_slices_are_bounded_and_never_empty() -> None:
    table = pa.concat_tables([pa.table({"n": range(5)}), pa.table({"n": pa.array([], pa.int64())})])
    assert [batch.num_rows for batch in slices(table, 2)] == [2, 2, 1]
    assert [batch.num_rows for batch in slices(table.to_batches()[0], 9)] == [5]
