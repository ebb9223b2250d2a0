"""The wrapper counts what was asked for, and fails when told to."""

from __future__ import annotations

import uuid

import pytest

from graveler_core.blobs.open import open_blobs
from graveler_core.errors import Unavailable
from graveler_core.testing.counting_blobs import CountingBlobs


def test_counts_verbs_and_bytes() -> None:
    blobs = CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"))
    blobs.create("a", b"12345")
    blobs.create("a", memoryview(b"12345678").cast("I"))
    blobs.read("a")
    blobs.read_range("a", 1, 2)
    blobs.head("a")
    list(blobs.list())
    blobs.renew("a")
    blobs.delete("a")
    blobs.uri("a")
    blobs.close()
    expected = {"create": 2, "read": 1, "read_range": 1, "head": 1, "list": 1, "renew": 1, "delete": 1}
    assert dict(blobs.calls) == expected
    assert (blobs.bytes_written, blobs.bytes_read) == (13, 7)
    blobs.reset()
    assert (dict(blobs.calls), blobs.bytes_written, blobs.bytes_read) == ({}, 0, 0)


def test_a_listing_counts_when_it_begins() -> None:
    blobs = CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"))
    listing = blobs.list()
    assert blobs.calls["list"] == 0
    list(listing)
    assert blobs.calls["list"] == 1


def test_fails_as_told() -> None:
    def fault(verb: str, address: str) -> Exception | None:
        return Unavailable("planted") if (verb, address) == ("create", "b") else None

    blobs = CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"), fault)
    assert blobs.create("a", b"1")
    with pytest.raises(Unavailable, match="planted"):
        blobs.create("b", b"1")
    assert [info.address for info in blobs.list()] == ["a"]
    assert blobs.calls["create"] == 2
