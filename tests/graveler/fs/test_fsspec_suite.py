"""The tests that fsspec offers to authors of file systems, on SQLite with a directory and on PostgreSQL with S3."""

from __future__ import annotations

import posixpath
from typing import Any

import pytest
from fsspec.tests import abstract

from graveler.fs import GravelerFileSystem
from tests.graveler.fs.conftest import Place


class Fixtures(abstract.AbstractFixtures):
    """A new repository for each test."""

    @pytest.fixture
    def place(self, local: Place) -> Place:
        return local

    @pytest.fixture
    def fs(self, place: Place) -> GravelerFileSystem:
        return place.fs()

    @pytest.fixture
    def fs_path(self, place: Place) -> str:
        return f"{place.repository().id}/main"

    @pytest.fixture
    def fs_join(self) -> Any:
        return posixpath.join

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False


class OnServers(Fixtures):
    """The same on servers."""

    @pytest.fixture
    def place(self, servers: Place) -> Place:
        return servers


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    pass


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    pass


@pytest.mark.ci
class TestCopy(abstract.AbstractCopyTests, Fixtures):
    pass


@pytest.mark.ci
class TestGet(abstract.AbstractGetTests, Fixtures):
    pass


@pytest.mark.ci
class TestPut(abstract.AbstractPutTests, Fixtures):
    pass


class TestOpenOnServers(abstract.AbstractOpenTests, OnServers):
    pass


class TestPipeOnServers(abstract.AbstractPipeTests, OnServers):
    pass


class TestCopyOnServers(abstract.AbstractCopyTests, OnServers):
    pass


class TestGetOnServers(abstract.AbstractGetTests, OnServers):
    pass


class TestPutOnServers(abstract.AbstractPutTests, OnServers):
    pass
