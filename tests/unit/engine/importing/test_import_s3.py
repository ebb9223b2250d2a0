"""Imports from an S3 server, with what only such a store has: markers of directories, odd keys, refusals."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import InvalidInput, Kind, NoChanges, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.s3_server import S3Server
from tests.unit.engine.importing.sources import shown
from tests.unit.engine.world import World


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def seen(world: World, s3: S3Server) -> Repository:
    return Graveler(replace(world.stores(), blobs=OpenedBlobs(s3.options))).repository("repo")


def test_there_and_again(world: World, s3: S3Server) -> None:
    bucket = s3.make_bucket(f"b{uuid4().hex}")
    names = ["raw/", "raw/d/", "raw/d/a=%3A/x", "raw/d-", "raw/empty", "raw/ü &+", "rawer"]
    for name in names:
        s3.put(bucket, name, b"" if name.endswith(("/", "empty")) else name.encode())
    repo = seen(world, s3)
    done = repo.import_prefix(f"s3://{bucket}/raw/", "main", "in")
    assert (done.objects, done.markers) == (4, 1)
    assert shown(world) == {"in/d-": 6, "in/d/a=%3A/x": 13, "in/empty": 0, "in/ü &+": 9}
    main = repo.branch("main")
    assert [main.read(f"in/{name}").decode() for name in ("d-", "d/a=%3A/x", "ü &+")] == [
        "raw/d-",
        "raw/d/a=%3A/x",
        "raw/ü &+",
    ]
    with pytest.raises(NoChanges):
        repo.import_prefix(f"s3://{bucket}/raw", "main", "in", mode="replace")
    repo.import_objects([f"s3://{bucket}/raw/%C3%BC%20&+"], "main")
    assert main.get("ü &+").checksum == main.get("in/ü &+").checksum


def test_a_key_that_nothing_can_name(world: World, s3: S3Server) -> None:
    bucket = s3.make_bucket(f"b{uuid4().hex}")
    s3.put(bucket, "raw/a//b", b"x")
    with pytest.raises(InvalidInput, match="raw/a//b") as refused:
        seen(world, s3).import_prefix(f"s3://{bucket}/raw", "main")
    assert refused.value.kind is Kind.InvalidPath


def test_a_bucket_that_is_not_there(world: World, s3: S3Server) -> None:
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        seen(world, s3).import_prefix("s3://nobodys-bucket/raw", "main")
    assert shown(world) == {}
