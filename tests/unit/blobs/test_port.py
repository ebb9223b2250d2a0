"""The suite of the port, on every store that runs here."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.open import open_blobs
from graveler_core.blobs.port import CHUNK_BYTES, Blobs
from graveler_core.testing.blob_suite import BlobSuite
from graveler_core.testing.counting_blobs import CountingBlobs


class TestMemory(BlobSuite):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return open_blobs(f"memory://{uuid.uuid4().hex}/some/where")


class TestMemoryBucket(BlobSuite):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return open_blobs(f"memory://{uuid.uuid4().hex}")


def _directory(place: Path) -> str:
    """Make a directory that can have objects of a repository. Return its URI."""
    (place / OWN).mkdir(parents=True)
    return place.as_uri()


class TestLocal(BlobSuite):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return open_blobs(_directory(tmp_path / "a name # with ? odd % signs é"))


class TestLocalNotDurable(BlobSuite):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return open_blobs(_directory(tmp_path), durable=False)


@pytest.mark.everyday
class TestS3(BlobSuite):
    @pytest.fixture
    def blobs(self, s3: Any) -> Blobs:
        bucket = s3.make_bucket(f"bucket-{uuid.uuid4().hex[:12]}")
        return open_blobs(f"s3://{bucket}/some name/é", s3.options)

    @pytest.mark.ci
    def test_lists_more_than_a_page(self, blobs: Blobs) -> None:
        super().test_lists_more_than_a_page(blobs)


class TestS3Bucket(BlobSuite):
    @pytest.fixture
    def blobs(self, s3: Any) -> Blobs:
        bucket = s3.make_bucket(f"bucket-{uuid.uuid4().hex[:12]}")
        return open_blobs(f"s3://{bucket}", s3.options)


class TestCounting(BlobSuite):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return CountingBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"))


class TestCached(BlobSuite):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return CachedBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"), DiskCache(tmp_path / "cache"))


class TestCachedWithLittleRoom(BlobSuite):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return CachedBlobs(open_blobs(f"memory://{uuid.uuid4().hex}"), DiskCache(tmp_path / "cache", 500))


@pytest.mark.parametrize("remote", [True, False])
def test_chunks_are_bounded(s3: Any, tmp_path: Path, remote: bool) -> None:
    bucket = s3.make_bucket(f"bucket-{uuid.uuid4().hex[:12]}")
    blobs = open_blobs(f"s3://{bucket}" if remote else tmp_path.as_uri(), s3.options)
    blobs.create("large", bytes(5 * CHUNK_BYTES + 1))
    sizes = [len(chunk) for chunk in blobs.chunks("large")]
    assert sum(sizes) == 5 * CHUNK_BYTES + 1
    assert max(sizes) < 2 * CHUNK_BYTES
