"""Objects read through the cache: once, and only what the cache is for."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path
from typing import Any

import pytest

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.open import OpenedBlobs, open_blobs
from graveler_core.errors import NotFound
from graveler_core.testing.counting_blobs import CountingBlobs

OPTIONS = {"access_key_id": "one", "secret_access_key": "two", "region": "eu-north-1"}


@pytest.fixture
def counted() -> CountingBlobs:
    """An empty place in memory that counts."""
    return CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}/x"))


def test_an_object_is_read_once_by_all_processes(counted: CountingBlobs, tmp_path: Path) -> None:
    counted.create("own/a", b"content")
    for _ in range(3):
        assert CachedBlobs(counted, DiskCache(tmp_path), "own/").read("own/a") == b"content"
        assert b"".join(CachedBlobs(counted, DiskCache(tmp_path), "own/").chunks("own/a")) == b"content"
    assert counted.calls["read"] == 1


def test_what_is_not_below_the_prefix_is_not_kept(counted: CountingBlobs, tmp_path: Path) -> None:
    counted.create("data/a", b"content")
    blobs = CachedBlobs(counted, DiskCache(tmp_path), "own/")
    assert [blobs.read("data/a") for _ in range(2)] == [b"content"] * 2
    assert b"".join(blobs.chunks("data/a")) == b"content"
    assert counted.calls["read"] == 3
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_not_remembered(counted: CountingBlobs, tmp_path: Path) -> None:
    blobs = CachedBlobs(counted, DiskCache(tmp_path))
    with pytest.raises(NotFound):
        blobs.read("a")
    counted.create("a", b"1")
    assert blobs.read("a") == b"1"


def test_namespaces_are_not_confused(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    places = [CachedBlobs(open_blobs(f"memory://{uuid.uuid4().hex}/x"), cache) for _ in range(2)]
    for number, blobs in enumerate(places):
        blobs.create("a", b"%d" % number)
    assert [blobs.read("a") for blobs in places * 2] == [b"0", b"1"] * 2


def test_damage_on_disk_is_read_again(counted: CountingBlobs, tmp_path: Path) -> None:
    counted.create("a", b"content")
    blobs = CachedBlobs(counted, DiskCache(tmp_path))
    blobs.read("a")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(b"something else")
    assert [blobs.read("a") for _ in range(3)] == [b"content"] * 3
    assert counted.calls["read"] == 2


def test_remote_stores_are_cached_where_that_was_asked_for(tmp_path: Path) -> None:
    stores = OpenedBlobs(OPTIONS, cache=DiskCache(tmp_path / "cache"))
    assert isinstance(stores.at("s3://bucket/x"), CachedBlobs)
    for place in ("memory://bucket/x", tmp_path.as_uri()):
        assert not isinstance(stores.at(place), CachedBlobs)
    assert not isinstance(OpenedBlobs(OPTIONS).at("s3://bucket/x"), CachedBlobs)
    elsewhere = pickle.loads(pickle.dumps(stores))
    assert not isinstance(elsewhere.at("s3://bucket/x"), CachedBlobs)


def test_processes_read_an_object_of_a_remote_store_once(s3: Any, tmp_path: Path) -> None:
    namespace = f"s3://{s3.make_bucket(f'bucket-{uuid.uuid4().hex[:12]}')}/x"
    writer = OpenedBlobs(s3.options).at(namespace)
    writer.create("_graveler/1", b"content")
    assert OpenedBlobs(s3.options, cache=DiskCache(tmp_path)).at(namespace).read("_graveler/1") == b"content"
    writer.delete("_graveler/1")
    assert OpenedBlobs(s3.options, cache=DiskCache(tmp_path)).at(namespace).read("_graveler/1") == b"content"
