"""Nodes read back as they were written; damage is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.content_hash import hex_id
from graveler_core.committed.node import EMPTY, MAX_SIZE, Node, NodeRow, decode, encode
from graveler_core.errors import CorruptData, Kind

KEYS = st.lists(st.binary(min_size=1, max_size=40), unique=True, max_size=12)


def made(keys: list[bytes], level: int = 0) -> Node:
    ordered = sorted(keys)
    pairs = zip(ordered[::2], ordered[1::2], strict=False)
    return Node(
        level, tuple(NodeRow(low, high, hex_id(low), n + 1, MAX_SIZE - n) for n, (low, high) in enumerate(pairs))
    )


@given(keys=KEYS, level=st.integers(0, 60))
def test_decoding_gives_back_what_was_encoded(keys: list[bytes], level: int) -> None:
    level = level if len(keys) > 1 else 0
    node = made(keys, level)
    data = encode(node)
    assert decode(data, hex_id(data)) == node


@given(keys=KEYS, position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_any_damaged_byte_is_found(keys: list[bytes], position: float, flip: int) -> None:
    data = bytearray(encode(made(keys)))
    id = hex_id(bytes(data))
    data[int(position * len(data))] ^= flip
    with pytest.raises(CorruptData, match=id) as caught:
        decode(bytes(data), id)
    assert caught.value.kind is Kind.CorruptMetarange


@given(data=st.binary(max_size=200))
def test_bytes_of_a_right_hash_that_are_no_node_are_refused(data: bytes) -> None:
    for content in (data, b"\x01\x00" + data, b"\x01\x00\x01\x00\x00\x00" + data):
        with pytest.raises(CorruptData):
            decode(content, hex_id(content))


@pytest.mark.parametrize("data", [encode(made([b"a", b"b", b"c", b"d"]))])
def test_rows_out_of_order_are_refused(data: bytes) -> None:
    swapped = data[:-4] + b"cabd"
    with pytest.raises(CorruptData, match="order"):
        decode(swapped, hex_id(swapped))


def test_another_version_is_named() -> None:
    data = b"\x02" + encode(EMPTY)[1:]
    with pytest.raises(CorruptData, match="version 2"):
        decode(data, hex_id(data))


def test_the_bytes_are_those_of_format_version_1() -> None:
    row = NodeRow(b"a", b"bc", "11" * 32, 3, 4)
    assert encode(Node(2, (row,))) == bytes.fromhex(
        "010201000000010000000200000003000000000000000400000000000000" + "11" * 32 + "616263"
    )
    assert encode(EMPTY) == bytes.fromhex("010000000000")


def test_sums_of_sizes_stop_at_what_64_bits_hold() -> None:
    row = NodeRow(b"a", b"a", "11" * 32, 1, MAX_SIZE)
    other = NodeRow(b"b", b"b", "22" * 32, 1, MAX_SIZE)
    assert Node(0, (row, other)).as_row("33" * 32).size == MAX_SIZE


@pytest.mark.parametrize(
    "node",
    [
        Node(1, ()),
        Node(0, (NodeRow(b"a", b"b", "00" * 32, 0, 1),)),
        Node(0, (NodeRow(b"a", b"b", "00" * 32, 1, MAX_SIZE + 1),)),
    ],
    ids=["nothing above level 0", "a row without entries", "too large a size"],
)
def test_a_node_that_no_writer_makes_is_refused(node: Node) -> None:
    data = encode(node)
    with pytest.raises(CorruptData, match="has a row without entries, too large a size, or no row above level 0"):
        decode(data, hex_id(data))
