"""Objects by the hash of their bytes: what is missing or damaged is named."""

from __future__ import annotations

from datetime import timedelta

import pytest

from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.backends.memory import open_memory
from graveler_core.objects.objects import Objects, decode_object, encode_object
from graveler_core.records import layout as keys
from tests.unit.kv.wrappers.still_clock import StillClock
from tests.unit.records.samples import REPOSITORY
from tests.unit.records.samples import SINCE as START


@pytest.fixture
def objects() -> Objects:
    return Objects(open_memory("memory://"), REPOSITORY, StillClock())


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"a" * 70_000])
def test_what_was_written_is_read(objects: Objects, data: bytes) -> None:
    id, write = objects.prepare(data)
    objects.kv.set(*write)
    assert objects.read(id) == data
    assert objects.prepare(data) == (id, write)


def test_objects_are_spread_and_belong_to_one_repository(objects: Objects) -> None:
    places = {objects.prepare(bytes([number]))[1][0] for number in range(200)}
    assert len(places) > 100
    assert all(place.startswith(keys.partition(REPOSITORY) + b"-") for place in places)


def test_a_missing_object(objects: Objects) -> None:
    id, _ = objects.prepare(b"never written")
    with pytest.raises(CorruptData, match=f"object {id}: is missing") as caught:
        objects.read(id)
    assert caught.value.kind is Kind.CorruptObject


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (encode_object(b"other", START), "does not match its id"),
        (encode_object(b"whole", START)[:-1], "does not match its id"),
        (b"\x01\0\0", "does not match its id"),
        (b"\x02" + encode_object(b"whole", START)[1:], "format version 02"),
        (b"", "format version none"),
        (b"\x01" + b"\x7f" * 8 + b"whole", "invalid time"),
    ],
)
def test_a_damaged_object(objects: Objects, value: bytes, why: str) -> None:
    id, (partition, key, _) = objects.prepare(b"whole")
    objects.kv.set(partition, key, value)
    with pytest.raises(CorruptData, match=why) as caught:
        objects.read(id)
    assert caught.value.details["object"] == id


def test_each_writing_says_when(objects: Objects) -> None:
    assert isinstance(objects.clock, StillClock)
    times = []
    for _ in range(2):
        id, (_, _, value) = objects.prepare(b"data")
        times.append(decode_object(value, id)[1])
        objects.clock.sleep(60)
    assert times[1] - times[0] == timedelta(minutes=1)
