"""The meter counts what passes, once, whatever the store can do at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.committed.meter import MeteredRecords, Traffic, metered
from benchmarks.scenario import Place
from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.testing.plain_store import PlainStore


@pytest.fixture(params=["able", "plain"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    opened = open_memory(f"memory://{uuid.uuid4().hex}")
    yield opened if request.param == "able" else PlainStore(opened)
    opened.close()


def test_keys_and_values_are_counted_once(store: Store) -> None:
    records = MeteredRecords(store)
    predicate = records.set_if(b"p", b"key", b"value", None)
    assert (records.written, records.asked) == (9, 0)
    records.set_if(b"p", b"key", b"other", predicate)
    records.set(b"p", b"k", b"")
    assert records.written == 9 + 9 + 2
    bulk.set_many(records, [(b"p", b"a", b"12"), (b"q", b"b", b"3")])
    assert records.written == 20 + 7
    assert [found and found.value for found in bulk.get_many(records, [(b"p", b"a"), (b"q", b"c")])] == [b"12", None]
    assert records.get(b"q", b"b") is not None
    assert (records.written, records.asked) == (27, 3)


def test_columns_are_counted_once(store: Store) -> None:
    records = MeteredRecords(store)
    bulk.load(records, b"part", pa.array([b"a", b"bc"]), pa.array([b"123", b""]))
    assert records.written == 2 * len(b"part") + 3 + 3


def test_a_handle_is_metered_with_its_objects(tmp_path: Path) -> None:
    """The content of one object, and the record that stages it; then a reading of the object."""
    place = Place("memory://metered", tmp_path.as_uri(), "repo", 0)
    with place.connect() as g:
        place.create(g)
        with metered(place) as (handle, meter):
            main = place.repo(handle).branch("main")
            before = meter.read()
            main.put("path", b"x" * 100_000)
            staged = meter.read() - before
            assert 100_000 < staged.written < 101_000
            assert staged.objects == 0
            before = meter.read()
            assert main.read("path") == b"x" * 100_000
            found = meter.read() - before
            assert found == Traffic(written=0, records=found.records, objects=1)
