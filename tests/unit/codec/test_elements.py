"""Elements: golden bytes, one encoding, searches that agree with reading all, and damage refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graveler_core.codec.elements import Element, ElementAction, decode_elements, encode_elements
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.codec.staged_record import encode_entry
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.entry import Entry
from tests.unit.codec.entry_examples import FULL, PLAIN, entries

PUTS = [ElementAction.NONE, ElementAction.ADD, ElementAction.INCREMENTAL_ADD]
REMOVALS = [ElementAction.REMOVE, ElementAction.INCREMENTAL_REMOVE]
NO_RECORDS = [b"", b"\1", b"\1\2", b"\2" + encode_entry(PLAIN)[1:], encode_entry(PLAIN) + b"x", encode_entry(FULL)[:-1]]
"""Bytes that stand for no entry, which come back all the same."""

keys = st.binary(max_size=4) | st.text("ab/é", max_size=200).map(str.encode)
plain_records = st.one_of(entries.map(encode_entry), st.sampled_from(NO_RECORDS))
puts = st.tuples(st.sampled_from(PUTS), plain_records)
removals = st.tuples(st.sampled_from(REMOVALS), st.just(TOMBSTONE_VALUE))
lists = st.dictionaries(keys, puts | removals, max_size=40).map(
    lambda rows: [Element(key, *rows[key]) for key in sorted(rows)]
)

SAMPLE = [
    Element(b"flights/01.parquet", ElementAction.ADD, encode_entry(FULL)),
    Element(b"flights/02.parquet", ElementAction.INCREMENTAL_ADD, encode_entry(PLAIN)),
    Element(b"flights/02.parquet/x", ElementAction.REMOVE, TOMBSTONE_VALUE),
    Element(b"g", ElementAction.NONE, encode_entry(replace(PLAIN, size=1 << 32))),
]
GOLDEN = bytes.fromhex(
    "010412666c69676874732f30312e7061727175657411fe01f9ffd20400002ad9bda1e4c42b74305c72e8a857f51ec3f7225c0ed1"
    "e942720e92dae1b64a2c090815220245c419c994d4040000000000000000000000000000000005646174612f6162313264343164"
    "386364396170706c69636174696f6e2f782d706172717565740600000004000000636f6c6f757272c3a46405000000030000006f"
    "776e6572616e6e00780909322e706172717565740b08010000000000008f13d4b84364aaf41474aff2c07803ff799fad52e0074a"
    "afe7cf1860c817b59d0900000000646174612f6162313200022f7802140167005201080100000000000001000000000000000000"
    "0000b13c9cd82f65d01d9030471b2a499b628fd5ed540c4876cbcc3f495125ea7741090000000000000000000000000000000000"
    "0000646174612f6162313202000000"
)


def many(count: int) -> list[Element]:
    return [Element(b"key/%04d" % n, ElementAction.REMOVE, TOMBSTONE_VALUE) for n in range(count)]


def test_golden() -> None:
    assert encode_elements(SAMPLE) == GOLDEN
    assert decode_elements(GOLDEN, "index") == SAMPLE
    assert encode_elements([]) == b"\1\0"
    assert decode_elements(b"\1\0", "index") == []


def test_golden_restart_points() -> None:
    first = b"\x08key/0000\2" + b"".join(b"\1\x01%d\2" % n for n in range(1, 10)) + b"\2\x0210\2"
    first += b"".join(b"\1\x01%d\2" % n for n in range(1, 6))
    data = b"\1\x12" + first + b"\x08key/0016\2\1\x017\2"
    data += b"\2\0\0\0" + (2 + len(first)).to_bytes(4, "little")
    assert encode_elements(many(18)) == data


@given(lists)
@example(many(15))
@example(many(16))
@example(many(17))
@example(many(200))
def test_elements_come_back(elements: list[Element]) -> None:
    data = encode_elements(elements)
    back = decode_elements(data, "index")
    assert back == elements
    assert {type(element) for element in back} <= {Element}
    assert {type(element.action) for element in back} <= {ElementAction}


@pytest.mark.parametrize("length", [127, 128, 16_383, 16_384])
def test_long_keys_and_records(length: int) -> None:
    elements = [
        Element(b"a" * length, ElementAction.ADD, encode_entry(Entry(data=b"x" * length))),
        Element(b"a" * length + b"b" * length, ElementAction.ADD, encode_entry(Entry(content_type="x" * length))),
        Element(b"b", ElementAction.ADD, b"\1" * length),
    ]
    data = encode_elements(elements)
    assert decode_elements(data, "index") == elements


def test_short_forms_leave_out_28_or_20_bytes_of_a_record() -> None:
    lone = encode_elements([Element(b"k", ElementAction.ADD, encode_entry(PLAIN))])
    timed = encode_elements([Element(b"k", ElementAction.ADD, encode_entry(replace(PLAIN, mtime=FULL.mtime)))])
    frame = len(b"\1\1" + b"\1k" + b"\1" + b"\0\0\0\0")
    assert len(lone) == frame + len(encode_entry(PLAIN)) - 28
    assert len(timed) == len(lone) + 8


@pytest.mark.parametrize("at", [1, 16, 17])
@pytest.mark.parametrize("key", [b"", b"key/0000"])
def test_refuses_keys_that_do_not_rise(at: int, key: bytes) -> None:
    elements = many(20)
    elements[at] = elements[at]._replace(key=key)
    with pytest.raises(InvalidInput, match="not greater than the previous key"):
        encode_elements(elements)


@pytest.mark.parametrize("action", ElementAction)
def test_refuses_the_record_of_another_action(action: ElementAction) -> None:
    record = encode_entry(PLAIN) if action in REMOVALS else TOMBSTONE_VALUE
    with pytest.raises(InvalidInput, match=action.name):
        encode_elements([Element(b"k", action, record)])


def test_the_empty_key_may_stand_first() -> None:
    elements = [Element(b"", ElementAction.ADD, encode_entry(PLAIN)), *many(3)]
    assert decode_elements(encode_elements(elements), "index") == elements


REMOVAL = b"\1k\2"
"""A key's count, the key, and a head."""
AT_2 = b"\2\0\0\0"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\1",
        b"\2\0",
        b"\1\0x",
        b"\1\x80\0",
        b"\1\x81\0" + REMOVAL + b"\3\0\0\0",
        b"\1\1" + REMOVAL,
        b"\1\1" + REMOVAL + b"\3\0\0\0",
        b"\1\1" + REMOVAL + b"x" + AT_2,
        b"\1\1" + b"\x81\0k\2" + AT_2,
        b"\1\1" + b"\1k\5" + AT_2,
        b"\1\1" + b"\1k\x0a" + encode_entry(PLAIN) + AT_2,
        b"\1\1" + b"\1k\x19" + encode_entry(PLAIN) + AT_2,
        b"\1\1" + b"\1k\1\2" + TOMBSTONE_VALUE + AT_2,
        b"\1\1" + b"\1k\1\x52" + encode_entry(PLAIN) + AT_2,
        b"\1\1" + b"\1k\1\x05abcd" + AT_2,
        b"\1\1" + b"\1k\x11" + bytes(4 + 4 + 32 + 5 + 8) + AT_2,
        b"\1\2" + REMOVAL + b"\0\0\2" + AT_2,
        b"\1\2" + REMOVAL + b"\2\1l\2" + AT_2,
        b"\1\2" + REMOVAL + b"\1\1k\2" + AT_2,
        b"\1\2" + REMOVAL + b"\1\2ka\2" + AT_2,
        b"\1\2" + REMOVAL + b"\1\1a\2" + AT_2,
        b"\1\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + REMOVAL,
        b"\1\xff\xff\xff\xff\x7f" + REMOVAL,
        b"\1\1\xff\xff\xff\xff\x7fk\2" + AT_2,
    ],
)
def test_refuses_what_is_never_written(data: bytes) -> None:
    assert decode_elements(b"\1\1" + REMOVAL + AT_2, "a sound one") == [
        Element(b"k", ElementAction.REMOVE, TOMBSTONE_VALUE)
    ]
    with pytest.raises(CorruptData, match="the index") as caught:
        decode_elements(data, "the index")
    assert caught.value.details == {"name": "the index"}


def test_restart_points_rise_too() -> None:
    data = encode_elements(many(20))
    with pytest.raises(CorruptData, match="keys that are not ascending"):
        decode_elements(data.replace(b"key/0016", b"key/0015"), "index")


def read(data: bytes) -> list[Element] | None:
    try:
        return decode_elements(data, "index")
    except CorruptData:
        return None


@given(lists.filter(bool), st.data())
def test_damaged_bytes_are_refused_or_are_the_encoding_of_others(elements: list[Element], data: st.DataObject) -> None:
    damaged = bytearray(encode_elements(elements))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(damaged)) | st.integers(0, len(damaged)))
    found = read(bytes(damaged[:cut]))
    assert found is None or encode_elements(found) == damaged[:cut]


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_or_are_an_encoding(data: bytes) -> None:
    for content in (data, b"\1" + data, b"\1\1\1k" + data, b"\1\1\1k" + data + AT_2):
        found = read(content)
        assert found is None or encode_elements(found) == content
