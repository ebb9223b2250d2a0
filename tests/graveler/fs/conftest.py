"""Stores for tests of the file system: SQLite and PostgreSQL, each with a local directory and with S3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from graveler.fs import GravelerFileSystem
from graveler.fs.handles import close_all, handle
from graveler_core.facade.repository import Repository
from tests.postgresql_server import fresh_schema
from tests.s3_server import S3Server


@dataclass(frozen=True)
class Place:
    """A key-value store, and a storage root with the options of its object store."""

    store: str
    root: str
    storage: dict[str, str] = field(default_factory=dict)

    def fs(self, **options: object) -> GravelerFileSystem:
        return GravelerFileSystem(store=self.store, storage=self.storage, **options)

    def repository(self) -> Repository:
        """A new repository."""
        name = f"repo-{uuid.uuid4().hex[:8]}"
        return handle(self.store, self.storage).create_repository(name, f"{self.root}/{name}")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("fs")
    yield Place(f"sqlite:///{directory / 'meta.db'}?durability=process", (directory / "lake").as_uri())
    close_all()


@pytest.fixture(scope="module")
def servers(postgresql_server: str, s3: S3Server) -> Iterator[Place]:
    with fresh_schema(postgresql_server) as url:
        yield Place(url, f"s3://{s3.make_bucket(f'file-system-{uuid.uuid4().hex}')}", s3.options)
        close_all()


@pytest.fixture(scope="module")
def local_s3(tmp_path_factory: pytest.TempPathFactory, s3: S3Server) -> Iterator[Place]:
    store = f"sqlite:///{tmp_path_factory.mktemp('fs') / 'meta.db'}?durability=process"
    yield Place(store, f"s3://{s3.make_bucket(f'file-system-{uuid.uuid4().hex}')}", s3.options)
    close_all()


@pytest.fixture(scope="module")
def postgresql_local(postgresql_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with fresh_schema(postgresql_server) as url:
        yield Place(url, (tmp_path_factory.mktemp("fs") / "lake").as_uri())
        close_all()


@pytest.fixture
def repo(local: Place) -> Repository:
    """A repository with a commit of four files, and a tag."""
    repo = local.repository()
    main = repo.branch("main")
    for path in ("a", "t/1", "t/2", "t/u/3"):
        main.put(path, path.encode())
    main.commit("Files")
    repo.create_tag("v1", "main")
    return repo


@pytest.fixture
def fs(local: Place, repo: Repository) -> GravelerFileSystem:
    return local.fs()
