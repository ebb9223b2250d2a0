"""Requests for deletions on S3: each deletes many objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from graveler_core.blobs import remote
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import LayerId, RepositoryId
from graveler_core.objects.uploads import Uploads
from graveler_core.refs import repositories
from graveler_core.staging import segment_layer
from tests.s3_server import S3Server
from tests.unit.engine.world import World

_DELETION = re.compile(rb'"POST /[^ ?]*\?delete HTTP/')
_NOW = timedelta(0)
CLOCK = 1
"""Requests of a comparison of clocks."""


class Lake:
    """A repository in a bucket, 20 keys to a request."""

    def __init__(self, s3: S3Server) -> None:
        self.uri = f"s3://{s3.make_bucket(f'bucket-{uuid4().hex[:12]}')}/lake"
        self.world = World(blobs=OpenedBlobs(s3.options))
        self.world.clock.time = datetime.now(UTC) + timedelta(minutes=1)
        self.g: Graveler = self.world.graveler()
        self.repo: Repository = self.g.create_repository("repo", self.uri)
        self.blobs: Blobs = self.world.stores().blobs.at(self.uri)
        self._log = s3.process.directory / "log"

    def store(self, count: int, folder: str = "data") -> None:
        """Store objects that nothing names."""
        for _ in range(count):
            self.blobs.create(f"{folder}/{uuid4().hex}", b"x")

    def requests(self, work: Callable[[], object]) -> int:
        """Number of requests that delete objects."""
        before = self._log.stat().st_size
        work()
        return len(_DELETION.findall(self._log.read_bytes()[before:]))


@pytest.fixture
def lake(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(remote, "DELETED_AT_ONCE", 20)
    return Lake(s3)


def test_each_object_by_itself_takes_a_request(lake: Lake) -> None:
    lake.store(3)

    def delete_each() -> None:
        for blob in list(lake.blobs.list("data/")):
            lake.blobs.delete(blob.address)

    assert lake.requests(delete_each) == 3


def test_a_collection(lake: Lake) -> None:
    lake.store(50)
    assert lake.requests(lambda: lake.repo.collect(grace=_NOW, alone=True)) == 3 + CLOCK
    assert not list(lake.blobs.list("data/"))


def test_a_namespace(lake: Lake) -> None:
    """The last two requests delete the file of a comparison of clocks, if there is one, and the file of the owner."""
    lake.store(50)
    lake.g.delete_repository("repo")
    lake.g.clean(undelete_within=_NOW, late=_NOW)
    assert lake.requests(lambda: list(lake.g.empty_namespaces(grace=_NOW, alone=True))) == 3 + 3 * CLOCK + 2
    assert not list(lake.blobs.list())


def test_an_erasure(lake: Lake) -> None:
    main = lake.repo.branch("main")
    for number in range(25):
        main.put(f"people/{number}", b"%d" % number)
    main.commit("people")
    assert lake.requests(lambda: lake.repo.erase(prefix="people/", why="request 17")) == 2
    assert not list(lake.blobs.list("data/"))


def test_an_upload_that_is_given_up(lake: Lake) -> None:
    stores = lake.world.stores()
    record = repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId("repo"))
    uploads = Uploads(stores.kv, lake.blobs, record, stores.clock, stores.ids)
    id = uploads.begin()
    lake.store(45, f"data/{id}")
    assert lake.requests(lambda: uploads.give_up([id])) == 3
    assert not list(lake.blobs.list("data/"))


def test_files_of_a_layer(lake: Lake) -> None:
    for number in range(21):
        lake.blobs.create(segment_layer.address(LayerId("a"), str(number)), b"x")
    assert lake.requests(lambda: segment_layer.drop(lake.blobs, LayerId("a"))) == 2


def test_a_sweep(lake: Lake) -> None:
    for number in range(45):
        lake.blobs.create(f"_graveler/{number:064x}", b"x")
    assert lake.requests(lambda: lake.repo.sweep(grace=_NOW, alone=True)) == 3 + CLOCK
    assert all(blob.address > f"_graveler/{45:064x}" for blob in lake.blobs.list())
