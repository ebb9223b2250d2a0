"""Blobs for one call that writes nothing twice."""

from __future__ import annotations

import uuid

import pytest

from graveler_core.blobs.created_once import CreatedOnce
from graveler_core.blobs.open import open_blobs
from graveler_core.errors import NotFound, SlowDown
from graveler_core.testing.counting_blobs import CountingBlobs


@pytest.fixture
def counted() -> CountingBlobs:
    """An empty place in memory that counts."""
    return CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}/x"))


def test_an_object_is_written_once(counted: CountingBlobs) -> None:
    blobs = CreatedOnce(counted)
    assert [blobs.create("a", b"1"), blobs.create("a", b"1"), blobs.create("b", b"2")] == [True, False, True]
    assert counted.calls["create"] == 2
    assert [info.address for info in blobs.list()] == ["a", "b"]


def test_what_others_wrote_is_asked_about_once(counted: CountingBlobs) -> None:
    counted.create("a", b"1")
    blobs = CreatedOnce(counted)
    assert [blobs.create("a", b"1"), blobs.create("a", b"1")] == [False, False]
    assert counted.calls["create"] == 2


def test_what_failed_is_written_again(counted: CountingBlobs) -> None:
    failing = [SlowDown("planted")]
    blobs = CreatedOnce(CountingBlobs(counted, lambda verb, _: failing.pop() if verb == "create" and failing else None))
    with pytest.raises(SlowDown):
        blobs.create("a", b"1")
    assert blobs.create("a", b"1")
    assert blobs.read("a") == b"1"


def test_what_was_deleted_is_written_again(counted: CountingBlobs) -> None:
    blobs = CreatedOnce(counted)
    blobs.create("a", b"1")
    blobs.delete("a")
    assert blobs.create("a", b"1")


def test_everything_else_passes(counted: CountingBlobs) -> None:
    blobs = CreatedOnce(counted)
    blobs.create("a", b"123")
    info = blobs.head("a")
    assert info is not None
    assert (info.size, blobs.read_range("a", 1, 1), blobs.renew("a"), blobs.uri("a")) == (
        3,
        b"2",
        True,
        counted.uri("a"),
    )
    with pytest.raises(NotFound):
        blobs.read("b")
    blobs.close()
    assert counted.calls["renew"] == 1
