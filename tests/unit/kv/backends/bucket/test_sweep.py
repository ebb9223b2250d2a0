"""Sweeps of tombstones on moto's S3, which deletes on a condition, and on services that do not."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from graveler_core import sweep_tombstones
from graveler_core.errors import GravelerError, InvalidInput, Kind, PermissionDenied, SlowDown, Unavailable
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.bucket import sweep as bucket_sweep
from graveler_core.kv.backends.bucket.store import BucketStore, open_bucket_store
from graveler_core.kv.backends.bucket.sweep import TombstoneSweep
from graveler_core.kv.store import EXISTS
from tests.memory_bucket import memory_bucket


@pytest.fixture
def store(s3_url: str) -> Iterator[BucketStore]:
    with closing(open_bucket_store(s3_url)) as opened:
        assert isinstance(opened, BucketStore)
        yield opened


def deleted(store: BucketStore, *keys: bytes) -> None:
    for key in keys:
        store.set(b"p", key, b"v")
        store.delete_if(b"p", key, EXISTS)


def left(store: BucketStore) -> int:
    """Number of objects of the store, without its mark."""
    return sum(len(page) for page in store._requests.pages(store._names.root)) - 1


@pytest.mark.parametrize("batch", [1, 1_000])
def test_only_tombstones_are_removed(
    store: BucketStore, s3_url: str, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(bucket_sweep, "_BATCH", batch)
    deleted(store, b"a", b"b", b"c" * 600)
    for key in (b"b", b"d"):
        store.set(b"p", key, b"")
    assert left(store) == 4
    assert sweep_tombstones(s3_url) == 2
    assert left(store) == 2
    assert [row.key for row in store.scan(b"p")] == [b"b", b"d"]
    store.set_if(b"p", b"a", b"again", None)
    assert sweep_tombstones(s3_url) == 0


def test_what_others_do_between_listing_and_deletion(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted(store, b"created", b"set", b"removed", b"again", b"gone")
    plain = TombstoneSweep._tombstones

    def disturbed(self: TombstoneSweep) -> Iterator[list[tuple[str, str]]]:
        listed = list(plain(self))
        store.set_if(b"p", b"created", b"v", None)
        store.set(b"p", b"set", b"v")
        store.delete(b"p", b"removed")
        deleted(store, b"again")
        yield from listed

    monkeypatch.setattr(TombstoneSweep, "_tombstones", disturbed)
    assert store.sweep() == 2
    assert [row.key for row in store.scan(b"p")] == [b"created", b"set"]
    assert left(store) == 2


def ignored(*arguments: Any, headers: object, **options: Any) -> urllib.request.Request:
    """A request without its condition."""
    del headers
    return REQUEST(*arguments, **options)


REQUEST = urllib.request.Request


def test_a_service_that_ignores_the_condition(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted(store, b"a")
    monkeypatch.setattr(urllib.request, "Request", ignored)
    with pytest.raises(Unavailable, match="it deleted an object that has another ETag") as caught:
        store.sweep()
    assert caught.value.kind is Kind.StoreNotDurable
    assert left(store) == 1


def answer(status: int) -> Callable[..., None]:
    def answered(request: urllib.request.Request, timeout: float) -> None:
        del timeout
        raise urllib.error.HTTPError(request.full_url, status, "as it happens", None, io.BytesIO())  # type: ignore[arg-type]

    return answered


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (412, Unavailable, "does not delete an object that has the ETag"),
        (403, PermissionDenied, "denies"),
        (501, Unavailable, "is 501"),
        *((status, SlowDown, "busy") for status in (429, 500, 502, 503, 504)),
    ],
)
def test_answers(
    store: BucketStore, monkeypatch: pytest.MonkeyPatch, status: int, error: type[GravelerError], told: str
) -> None:
    monkeypatch.setattr(backing_off, "_PAUSE", 0)
    monkeypatch.setattr(urllib.request, "urlopen", answer(status))
    with pytest.raises(error, match=told) as caught:
        store.sweep()
    assert "Signature" not in repr(caught.value)


def test_a_service_that_cannot_be_reached(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, timeout: float) -> None:
        raise urllib.error.URLError(TimeoutError(f"{timeout}"))

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    with pytest.raises(Unavailable, match="cannot be reached"):
        store.sweep()


def test_requests_that_cannot_be_signed() -> None:
    with closing(memory_bucket(MemoryStore())) as store, pytest.raises(Unavailable, match="cannot be signed"):
        store.sweep()


def test_other_stores_have_no_tombstones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a store in a bucket"):
        sweep_tombstones(f"sqlite:///{tmp_path}/meta.db")
