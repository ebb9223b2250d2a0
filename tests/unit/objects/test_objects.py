"""Objects by the hash of their bytes: what is missing or damaged is named."""

from __future__ import annotations

import pytest

from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.backends.memory import open_memory
from graveler_core.objects.objects import Objects
from graveler_core.records import layout as keys
from tests.unit.records.samples import REPOSITORY


@pytest.fixture
def objects() -> Objects:
    return Objects(open_memory("memory://"), REPOSITORY)


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


def test_a_damaged_object(objects: Objects) -> None:
    id, (partition, key, _) = objects.prepare(b"whole")
    objects.kv.set(partition, key, b"other")
    with pytest.raises(CorruptData, match="not what its id says") as caught:
        objects.read(id)
    assert caught.value.details["object"] == id
