"""Objects of others: listed and read as they are, in memory, on disk and on S3."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import obstore
import pytest

from graveler_core.blobs.open import OpenedBlobs, open_bucket
from graveler_core.blobs.port import LISTED, Foreign
from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.model.address import Namespace, namespace
from tests.s3_server import S3Server

KEYS = ["a/b", "a-b", "a.b", "a/a%3Ab", "b c/ü", "y=1/z+&?#", "empty"]


def keys(objects: Foreign) -> list[str]:
    return [os.fsdecode(key) for page in objects.pages() for key in page.column("key").to_pylist()]


@pytest.fixture
def bucket(s3: S3Server) -> Namespace:
    return namespace(f"s3://{s3.make_bucket(f'b{uuid4().hex}')}/raw/in")


@pytest.fixture
def stores(s3: S3Server) -> OpenedBlobs:
    return OpenedBlobs(s3.options)


@pytest.fixture(params=["file", "memory", "s3"])
def lake(
    request: pytest.FixtureRequest, s3: S3Server, bucket: Namespace, stores: OpenedBlobs, tmp_path: Path
) -> tuple[Foreign, Callable[[str, bytes], None]]:
    """A place, and what writes there."""
    if request.param == "file":
        root = tmp_path / "raw"

        def write(key: str, data: bytes) -> None:
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_bytes(data)

        return stores.foreign(namespace(root.as_uri())), write
    place = bucket if request.param == "s3" else namespace(f"memory://{uuid4().hex}/raw/in")
    store = open_bucket(place, s3.options)
    return stores.foreign(place), lambda key, data: obstore.put(store, f"{place.path}/{key}", data) and None


def test_what_is_there(lake: tuple[Foreign, Callable[[str, bytes], None]]) -> None:
    objects, write = lake
    assert keys(objects) == []
    for key in KEYS:
        write(key, key.encode() if key != "empty" else b"")
    (page,) = objects.pages()
    assert page.schema == LISTED
    assert keys(objects) == sorted(KEYS, key=str.encode)
    for key, size, etag, mtime in zip(*(page.column(name).to_pylist() for name in LISTED.names), strict=True):
        text = os.fsdecode(key)
        assert objects.read(text) == (b"" if text == "empty" else key)
        assert b"".join(objects.chunks(text)) == objects.read(text)
        known = objects.head(text)
        assert known is not None
        assert (known.address, known.size, known.etag) == (text, size, etag)
        assert abs((known.mtime - mtime).total_seconds()) < 2
        assert '"' not in etag
    assert objects.head("no/such") is None
    assert objects.head("a") is None
    with pytest.raises(NotFound, match="no/such"):
        objects.read("no/such")
    with pytest.raises(NotFound, match="no/such"):
        next(objects.chunks("no/such"))


def test_an_etag_changes_with_the_object(lake: tuple[Foreign, Callable[[str, bytes], None]]) -> None:
    objects, write = lake
    write("k", b"one")
    before = objects.head("k")
    write("k", b"two")
    after = objects.head("k")
    assert before is not None
    assert after is not None
    assert before.etag != after.etag


@pytest.mark.parametrize("key", ["", "../x", "a//b", "a/./b", "a/..", "/a", "a/", "a\0b"])
def test_keys_that_would_name_another_object(lake: tuple[Foreign, Callable[[str, bytes], None]], key: str) -> None:
    for call in (lake[0].read, lake[0].head, lambda name: next(lake[0].chunks(name))):
        with pytest.raises(InvalidInput, match="must not contain") as refused:
            call(key)
        assert refused.value.kind is Kind.InvalidPath


class TestFiles:
    def test_links_and_the_rest_are_passed_over(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir()
        (tmp_path / "secret").write_bytes(b"x")
        (root / "link").symlink_to(tmp_path / "secret")
        (root / "out").symlink_to(tmp_path)
        os.mkfifo(root / "pipe")
        (root / "a").write_bytes(b"1")
        Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"2")
        objects = OpenedBlobs().foreign(namespace(root.as_uri()))
        assert keys(objects) == ["a", "\udcff"]
        assert objects.head("pipe") is None
        for key in ("link", "out/secret"):
            for read in (objects.read, lambda name: next(objects.chunks(name))):
                with pytest.raises(InvalidInput, match="symbolic link"):
                    read(key)

    def test_more_than_a_page(self, tmp_path: Path) -> None:
        for number in range(2_100):
            (tmp_path / f"{number:04}").touch()
        pages = list(OpenedBlobs().foreign(namespace(tmp_path.as_uri())).pages())
        assert [page.num_rows for page in pages] == [1000, 1000, 100]

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a").touch()
        assert keys(OpenedBlobs().foreign(namespace((tmp_path / "a").as_uri()))) == []


class TestS3:
    def test_markers_look_like_empty_objects_that_nobody_knows(
        self, s3: S3Server, bucket: Namespace, stores: OpenedBlobs
    ) -> None:
        for key in ("", "d/", "d/x", "d-x", "e/"):
            s3.put(bucket.bucket, f"{bucket.path}/{key}", b"" if not key or key.endswith("/") else b"x")
        objects = stores.foreign(bucket)
        assert keys(objects) == ["d-x", "d", "d/x", "e"]
        assert [objects.head(key) is None for key in ("d", "e", "d/x")] == [True, True, False]

    @pytest.mark.parametrize("key", ["a//b", "c/\x01d", "g/./x"])
    def test_a_key_that_has_no_name_is_told(
        self, s3: S3Server, bucket: Namespace, stores: OpenedBlobs, key: str
    ) -> None:
        s3.put(bucket.bucket, f"{bucket.path}/{key}", b"x")
        with pytest.raises(InvalidInput, match="inventory") as refused:
            keys(stores.foreign(bucket))
        assert refused.value.kind is Kind.InvalidPath
        assert refused.value.details["key"].startswith(bucket.path)

    def test_no_such_bucket(self, stores: OpenedBlobs, bucket: Namespace) -> None:
        with pytest.raises(Unavailable, match="NoSuchBucket") as refused:
            keys(stores.foreign(replace(bucket, bucket="nobodys-bucket")))
        assert refused.value.kind is Kind.BucketNotFound


def test_a_worker_sees_the_same_but_for_memory(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    arrived: OpenedBlobs = pickle.loads(pickle.dumps(OpenedBlobs()))
    arrived._process = "another"
    assert keys(arrived.foreign(namespace(tmp_path.as_uri()))) == ["a"]
    with pytest.raises(Unavailable, match="in memory"):
        arrived.foreign(namespace("memory://x"))
