"""One running server for the tests of a module: on SQLite with a local directory, and on PostgreSQL with S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from graveler_core.facade.branch import Branch
from tests.cheap_hashes import cheap_hashes
from tests.graveler.server.running import RunningServer, running_server
from tests.postgresql_server import fresh_schema
from tests.s3_server import S3Server

__all__ = ["cheap_hashes"]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "sqlite":
        root: Path = tmp_path_factory.mktemp("server")
        with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri()) as running:
            yield Place(running, lambda: f"local://{uuid4().hex}")
        return
    s3: S3Server = request.getfixturevalue("s3")
    bucket = s3.make_bucket(f"server-{uuid4().hex}")
    with (
        fresh_schema(request.getfixturevalue("postgresql_server")) as url,
        running_server(url, f"s3://{bucket}", s3.options) as running,
    ):
        yield Place(running, lambda: f"s3://{bucket}/{uuid4().hex}")


def put_damaged(branch: Branch, path: str, size: int) -> None:
    """Put content, and replace its object by another one of the same size."""
    entry = branch.put(path, b"a" * size)
    blobs = branch._stores.blobs.at(branch._record.storage_namespace)
    assert entry.address is not None
    blobs.delete(entry.address)
    blobs.create(entry.address, b"a" * (size - 1) + b"b")


def put_without_object(branch: Branch, path: str, size: int) -> None:
    """Put content, and delete its object."""
    entry = branch.put(path, b"a" * size)
    assert entry.address is not None
    branch._stores.blobs.at(branch._record.storage_namespace).delete(entry.address)


class Place:
    """A running server, and storage namespaces for its repositories."""

    def __init__(self, server: RunningServer, namespace: Callable[[], str]) -> None:
        self.server = server
        self.namespace = namespace

    def repository(self) -> str:
        """Create a repository, and return its name."""
        name = f"repo-{uuid4().hex[:12]}"
        self.server.graveler.create_repository(name, f"{self.server.root}/{name}")
        return name
