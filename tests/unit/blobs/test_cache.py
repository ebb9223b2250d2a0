"""The cache keeps within its bytes, drops what was used longest ago, and never confuses two namespaces."""

from __future__ import annotations

import random
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from graveler_core.blobs.cache import BlobCache
from graveler_core.blobs.counting import CountingBlobs
from graveler_core.blobs.open import open_blobs
from graveler_core.errors import NotFound


@pytest.fixture
def blobs() -> CountingBlobs:
    return CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}/x"))


def test_reads_once(blobs: CountingBlobs) -> None:
    blobs.create("a", b"content")
    cache = BlobCache(1000)
    assert [cache.read_through(blobs, "a") for _ in range(3)] == [b"content"] * 3
    assert blobs.calls["read"] == 1
    assert cache.size == 7


def test_drops_what_was_used_longest_ago(blobs: CountingBlobs) -> None:
    for name in "abcdefghi":
        blobs.create(name, name.encode() * 100)
    cache = BlobCache(800)
    for name in "abcdefgh":
        cache.read_through(blobs, name)
    cache.read_through(blobs, "a")
    cache.read_through(blobs, "i")
    assert cache.size == 800
    blobs.reset()
    cache.read_through(blobs, "a")
    assert blobs.calls["read"] == 0
    cache.read_through(blobs, "b")
    assert blobs.calls["read"] == 1


def test_one_large_object_does_not_drive_out_the_rest(blobs: CountingBlobs) -> None:
    blobs.create("small", b"x" * 10)
    blobs.create("large", b"x" * 101)
    cache = BlobCache(800)
    cache.read_through(blobs, "small")
    assert cache.read_through(blobs, "large") == b"x" * 101
    assert cache.size == 10


def test_keeps_nothing_of_what_is_missing(blobs: CountingBlobs) -> None:
    cache = BlobCache(1000)
    with pytest.raises(NotFound):
        cache.read_through(blobs, "a")
    blobs.create("a", b"1")
    assert cache.read_through(blobs, "a") == b"1"


def test_namespaces_are_apart(blobs: CountingBlobs) -> None:
    other = open_blobs(f"memory://{uuid.uuid4().hex}/x")
    blobs.create("a", b"1")
    other.create("a", b"2")
    cache = BlobCache(1000)
    assert (cache.read_through(blobs, "a"), cache.read_through(other, "a")) == (b"1", b"2")


def test_clear(blobs: CountingBlobs) -> None:
    blobs.create("a", b"1")
    cache = BlobCache(1000)
    cache.read_through(blobs, "a")
    cache.clear()
    assert cache.size == 0
    cache.read_through(blobs, "a")
    assert blobs.calls["read"] == 2


def test_keeps_count_among_threads(blobs: CountingBlobs) -> None:
    names = [f"{n:02}" for n in range(40)]
    for name in names:
        blobs.create(name, name.encode() * 20)
    cache = BlobCache(400)
    drawn = random.Random(7).choices(names, k=4000)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda name: cache.read_through(blobs, name), drawn)) == [n.encode() * 20 for n in drawn]
    assert cache.size == 400
