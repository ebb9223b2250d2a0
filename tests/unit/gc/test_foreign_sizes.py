"""Sizes of foreign objects: right for all keys, and with few requests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import obstore
import pyarrow as pa
import pytest

from graveler_core.blobs import foreign as foreign_module
from graveler_core.blobs.foreign import ForeignRemote
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import BlobInfo
from graveler_core.errors import Kind, Unavailable
from graveler_core.gc import foreign_sizes as foreign_sizes_module
from graveler_core.gc.foreign_sizes import MISSING, foreign_sizes
from graveler_core.model.address import Namespace, namespace
from graveler_core.stores import Stores
from tests.unit.engine.world import World

ODD = ["a b/ü", "a/0", "a/00", "a/1.parquet", "a/b/0", "a0", "z", "ä%20", "日本/語"]


class Bucket:
    """A bucket in memory, whose requests are noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name = uuid.uuid4().hex
        self.asked: list[str] = []
        self.blobs = OpenedBlobs()
        pages, head = ForeignRemote._listed, ForeignRemote.head

        def listed(place: ForeignRemote, after: str) -> Iterator[list[BlobInfo]]:
            for page in pages(place, after):
                self.asked.append("page")
                yield page

        def asked(place: ForeignRemote, key: str) -> BlobInfo | None:
            self.asked.append("head")
            return head(place, key)

        monkeypatch.setattr(ForeignRemote, "_listed", listed)
        monkeypatch.setattr(ForeignRemote, "head", asked)

    @property
    def place(self) -> ForeignRemote:
        place = self.blobs.foreign(Namespace("memory", self.name, ""))
        assert isinstance(place, ForeignRemote)
        return place

    def fill(self, keys: list[str]) -> None:
        for key in keys:
            obstore.put(self.place._store, key, b"x" * len(key))

    def address(self, key: str) -> str:
        return f"memory://{self.name}/{quote(key)}"

    def sizes(self, keys: list[str]) -> list[int]:
        addresses = pa.chunked_array([[self.address(key) for key in keys]], pa.large_string())
        return foreign_sizes(stores(self.blobs), addresses, lambda more: None).tolist()


def stores(blobs: OpenedBlobs) -> Stores:
    return World(blobs=blobs).stores()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    return Bucket(monkeypatch)


@pytest.mark.parametrize("page", [1, 2, 1000])
@pytest.mark.parametrize("keys", [2, 3, 10_000])
@pytest.mark.parametrize("dense", [1, 10])
def test_every_key_and_every_gap(
    bucket: Bucket, page: int, keys: int, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_module, "PAGE", page)
    monkeypatch.setattr(foreign_sizes_module, "_TASK_KEYS", keys)
    monkeypatch.setattr(foreign_sizes_module, "_DENSE", dense)
    bucket.fill(ODD)
    assert bucket.sizes(ODD[::-1]) == [len(key) for key in ODD[::-1]]
    wanted = [key for pair in zip(ODD, [f"{key}!" for key in ODD], strict=True) for key in pair]
    assert bucket.sizes(wanted) == [len(key) if key in ODD else MISSING for key in wanted]
    assert bucket.sizes(["0", "zz", "zzz"]) == [MISSING] * 3


def test_objects_that_are_close_together_take_one_request_a_page(bucket: Bucket) -> None:
    keys = [f"d/{number:05}" for number in range(2_500)]
    bucket.fill(keys)
    assert bucket.sizes(keys) == [7] * 2_500
    assert bucket.asked == ["page"] * 3


def test_objects_far_apart_take_one_request_each(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_module, "PAGE", 100)
    keys = [f"d/{number:05}" for number in range(2_500)]
    bucket.fill(keys)
    assert bucket.sizes(keys[::1_000]) == [7] * 3
    assert bucket.asked == ["page"] * 3


def test_one_object_takes_a_head(bucket: Bucket) -> None:
    bucket.fill(ODD)
    assert (bucket.sizes(["z"]), bucket.sizes(["zz"])) == ([1], [MISSING])
    assert bucket.asked == ["head", "head"]


def test_a_neighbour_that_cannot_be_listed(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.fill(["a", "b"])

    def refuse(place: ForeignRemote, after: str) -> Iterator[list[BlobInfo]]:
        raise foreign_module._nameless(place._place, '"x//y"')

    monkeypatch.setattr(ForeignRemote, "_listed", refuse)
    assert bucket.sizes(["a", "b", "c"]) == [1, 1, MISSING]
    assert bucket.asked == ["head"] * 3


def test_a_marker_of_a_directory_is_no_object(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stores list the marker `x/` as `x`, before or after an object `x`."""
    bucket.fill(["a", "both", "z"])
    obstore.put(bucket.place._store, "empty", b"")
    pages = ForeignRemote._listed

    def with_markers(place: ForeignRemote, after: str) -> Iterator[list[BlobInfo]]:
        for page in pages(place, after):
            markers = [BlobInfo(key, 0, None, page[0].mtime) for key in ("both", "marker")]
            yield sorted([*page, *markers], key=lambda info: info.address)

    monkeypatch.setattr(ForeignRemote, "_listed", with_markers)
    assert bucket.sizes(["a", "both", "empty", "marker", "z"]) == [1, 4, 0, MISSING, 1]


def test_a_bucket_that_is_gone(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(place: ForeignRemote, after: str) -> Iterator[list[BlobInfo]]:
        raise Unavailable("NoSuchBucket", kind=kind)

    monkeypatch.setattr(ForeignRemote, "_listed", missing)
    kind = Kind.BucketNotFound
    assert bucket.sizes(["a", "b"]) == [MISSING, MISSING]
    kind = Kind.StoreUnreachable
    with pytest.raises(Unavailable):
        bucket.sizes(["a", "b"])


def test_files(tmp_path: Path) -> None:
    (tmp_path / "d e").mkdir()
    for name in ("a", "d e/b", "d e/ü"):
        (tmp_path / name).write_bytes(b"x" * len(name))
    names = ["d e/ü", "a", "none", "d e/none", "none/at all", "d e/b"]
    addresses = pa.chunked_array([[namespace((tmp_path / name).as_uri()).uri for name in names]], pa.large_string())
    counted: list[int] = []
    sizes = foreign_sizes(stores(OpenedBlobs()), addresses, counted.append).tolist()
    assert sizes == [5, 1, MISSING, MISSING, MISSING, 5]
    assert sum(counted) == 6
