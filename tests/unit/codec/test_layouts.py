"""Layouts: one encoding, read back whatever is in them, and damage refused by name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.layouts import decode_layout, encode_layout
from graveler_core.errors import CorruptData
from graveler_core.model.entities import Layout, Superseded
from graveler_core.model.index import Index, Run, RunLocation

ids = st.binary(min_size=32, max_size=32).map(bytes.hex)
numbers = st.integers(0, 2**35 - 1)
run_lists = st.lists(st.builds(Run, ids, st.sampled_from(RunLocation), numbers, numbers), max_size=4).map(tuple)


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    runs = draw(run_lists)
    return Index(draw(ids), runs, draw(st.binary(max_size=300)), own_run=bool(runs) and draw(st.booleans()))


times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
layouts = st.builds(
    Layout, index=indexes(), superseded=st.lists(st.builds(Superseded, index=indexes(), since=times), max_size=3)
)
EMPTY = "00" * 32


@given(layouts)
def test_what_was_written_is_read(layout: Layout) -> None:
    data = encode_layout(layout)
    assert decode_layout(data, "layout") == layout
    assert encode_layout(decode_layout(data, "layout")) == data


@given(layouts, st.floats(0, 1, exclude_max=True))
def test_a_cut_layout_is_refused(layout: Layout, share: float) -> None:
    data = encode_layout(layout)
    with pytest.raises(CorruptData, match=r"^the layout: "):
        decode_layout(data[: int(share * len(data))], "the layout")


@given(layouts, st.binary(min_size=1, max_size=3))
def test_bytes_behind_a_layout_are_refused(layout: Layout, more: bytes) -> None:
    with pytest.raises(CorruptData, match=r"^the layout: "):
        decode_layout(encode_layout(layout) + more, "the layout")


@pytest.mark.parametrize(
    ("at", "byte"),
    [(0, 2), (33, 1), (33, 2), (34, 1), (35, 0x80)],
    ids=["version", "an own run without runs", "own run of no kind", "a missing run", "inline index cut off"],
)
def test_other_bytes_are_refused(at: int, byte: int) -> None:
    data = bytearray(encode_layout(Layout(index=Index(EMPTY))))
    data[at] = byte
    with pytest.raises(CorruptData, match=r"^the layout: "):
        decode_layout(checked(data), "the layout")


def checked(data: bytearray) -> bytes:
    """The bytes with the checksum that fits them, as a faulty writer would give them."""
    return bytes(data[:-8]) + xxhash.xxh3_64_intdigest(bytes(data[:-8])).to_bytes(8, "little")


@given(layouts, st.data())
def test_a_flipped_bit_is_noticed(layout: Layout, data: st.DataObject) -> None:
    whole = bytearray(encode_layout(layout))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptData, match=r"^the layout: "):
        decode_layout(bytes(whole), "the layout")


def test_a_run_in_no_known_place_is_refused() -> None:
    data = bytearray(encode_layout(Layout(index=Index(EMPTY, (Run(EMPTY, RunLocation.OBJECT, 1, 1),)))))
    data[67] = 2
    with pytest.raises(CorruptData, match="2 is not a valid RunLocation"):
        decode_layout(checked(data), "the layout")
