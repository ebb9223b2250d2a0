"""Whatever bytes a store gives back, a decoder gives a value or one `CorruptData`, and takes no more room than they do.

What a value must look like is the matter of each decoder's own tests.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec import records
from graveler_core.codec.content_hash import hex_id
from graveler_core.codec.elements import Element, ElementAction, decode_elements, encode_elements
from graveler_core.codec.metadata_map import decode_map, decode_maps, encode_map
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.codec.small_hash import rows_digest
from graveler_core.codec.staged_record import decode_record, encode_entry
from graveler_core.codec.staged_records import decode_records
from graveler_core.committed import node
from graveler_core.errors import CorruptData
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, Entry
from graveler_core.segments import format as segment
from tests.examples import examples
from tests.unit.codec.entry_examples import FULL, PLAIN, table_of
from tests.unit.records.samples import RECORDS

ROOM = 1 << 20
"""Bytes that a decoder may take for input of some KiB."""
RECORD = encode_entry(FULL)
STAGED = [RECORD, encode_entry(PLAIN), TOMBSTONE_VALUE]
MAP = encode_map({"a": "b", "colour": "räd", "é": ""}, "map") or b""
ROWS = table_of([Entry(path=f"a/{n:03}", size=n, content_type="text/plain", metadata={"n": str(n)}) for n in range(30)])
ENTRIES = ROWS.select(ENTRY_SCHEMA.names).cast(ENTRY_SCHEMA)
ELEMENTS = [
    encode_elements([Element(b"a/%d" % n, ElementAction.ADD, record) for n, record in enumerate(STAGED[:2])]),
    encode_elements([Element(b"key/%04d" % n, ElementAction.REMOVE, TOMBSTONE_VALUE) for n in range(40)]),
]
NODE = node.Node(1, tuple(node.NodeRow(b"%02d" % n, b"%02dx" % n, hex_id(b"%d" % n), n + 1, n) for n in range(9)))


@dataclass(frozen=True)
class Decoder:
    """What reads some format, and sound bytes of it."""

    name: str
    samples: list[bytes]
    read: Callable[[bytes], Any]


def columns_of(data: bytes) -> pa.Table:
    values = pa.array([RECORD, data, TOMBSTONE_VALUE], pa.binary())
    return decode_records(pa.array([b"a", b"b", b"c"], pa.binary()), values)


def maps_of(data: bytes) -> pa.MapArray:
    return decode_maps(pa.array([None, data, MAP], pa.binary()), lambda row: f"row {row}")


DECODERS = [
    Decoder("elements", ELEMENTS, lambda data: decode_elements(data, "index")),
    Decoder("record", STAGED, lambda data: decode_record("a", data)),
    Decoder("records", STAGED, columns_of),
    Decoder("digest", STAGED, lambda data: rows_digest([(b"a", data)])),
    Decoder("map", [MAP], lambda data: decode_map(data, "map")),
    Decoder("maps", [MAP], maps_of),
    Decoder("node", [node.encode(NODE)], lambda data: node.decode(data, hex_id(data))),
    Decoder("range", [bytes(segment.encode(ENTRIES))], lambda data: segment.decode(data, ENTRY_SCHEMA, "range")),
    Decoder(
        "segment",
        [bytes(segment.encode(ROWS, row_group_rows=10))],
        lambda data: segment.decode(data, RECORD_SCHEMA, "segment"),
    ),
    *(
        Decoder(name, [records.encode(record)], partial(records.decode, type(record), name=name))
        for name, record in RECORDS.items()
    ),
]

junk = st.binary(max_size=9) | st.builds(
    bytes.__mul__, st.sampled_from([b"\0", b"\x7f", b"\x80", b"\xff"]), st.integers(1, 9)
)
texts = st.sampled_from(
    [b"1e999", b"-1", b"1" + b"0" * 5_000, b"[" * 5_000, b'{"a":' * 300, b'"\\ud800"', b"null", b"NaN", b"{}", b'""']
)
places = st.floats(0, 1)
edits = st.lists(st.tuples(places, st.sampled_from([0, 0, 1, 4, 40]), junk | texts), min_size=1, max_size=3)
"""Where, how many bytes are taken out there, and what is put in."""


@st.composite
def damaged(draw: st.DrawFn, samples: list[bytes]) -> bytes:
    """Sound bytes with some edits, some cut off, some junk alone."""
    data = draw(st.sampled_from(samples) if draw(st.integers(0, 9)) else st.binary(max_size=100))
    for place, taken, put in draw(edits):
        # Half of the edits go to the first bytes, where there is the most to break.
        at = int(place * 2 * len(data)) if place <= 0.5 else int((place - 0.5) * 2 * min(64, len(data)))
        # As many bytes go as come, or a number of them.
        data = data[:at] + put + data[at + (len(put) if taken == 0 else taken) :]
    return data if draw(st.integers(0, 4)) else data[: int(draw(places) * len(data))]


@contextmanager
def counted_room() -> Iterator[Callable[[], int]]:
    """Counts the most bytes that Python and numpy held at once beyond those before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def outcome(decoder: Decoder, data: bytes) -> Any:
    try:
        return decoder.read(data)
    except CorruptData as e:
        return e


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)
def test_sound_bytes_are_read(decoder: Decoder) -> None:
    for sample in decoder.samples:
        assert not isinstance(outcome(decoder, sample), CorruptData)


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)
@settings(max_examples=examples(80))
@given(data=st.data())
def test_damage_gives_a_value_or_one_error(decoder: Decoder, data: st.DataObject) -> None:
    content = data.draw(damaged(decoder.samples))
    outcome(decoder, content)
    with counted_room() as room:
        outcome(decoder, content)
        assert room() < ROOM
