"""The tests that fsspec offers to authors of file systems: SQLite and PostgreSQL, each with a directory and with S3.

CI runs all of them with SQLite and a directory, and those of single files with PostgreSQL and S3. Copies of many files,
which differ in the paths alone, and the other two pairs are for the longest tier.

What the tests demand and a version store cannot do is in docs/guides/files.md, "What fsspec's tests demand".
"""

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
    """The same with PostgreSQL and S3."""

    @pytest.fixture
    def place(self, servers: Place) -> Place:
        return servers


class OnS3(Fixtures):
    """The same with SQLite and S3."""

    @pytest.fixture
    def place(self, local_s3: Place) -> Place:
        return local_s3


class OnPostgreSQL(Fixtures):
    """The same with PostgreSQL and a directory."""

    @pytest.fixture
    def place(self, postgresql_local: Place) -> Place:
        return postgresql_local


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


@pytest.mark.slow
class TestCopyOnServers(abstract.AbstractCopyTests, OnServers):
    pass


@pytest.mark.slow
class TestGetOnServers(abstract.AbstractGetTests, OnServers):
    pass


@pytest.mark.slow
class TestPutOnServers(abstract.AbstractPutTests, OnServers):
    pass


@pytest.mark.slow
class TestOpenOnS3(abstract.AbstractOpenTests, OnS3):
    pass


@pytest.mark.slow
class TestPipeOnS3(abstract.AbstractPipeTests, OnS3):
    pass


@pytest.mark.slow
class TestCopyOnS3(abstract.AbstractCopyTests, OnS3):
    pass


@pytest.mark.slow
class TestGetOnS3(abstract.AbstractGetTests, OnS3):
    pass


@pytest.mark.slow
class TestPutOnS3(abstract.AbstractPutTests, OnS3):
    pass


@pytest.mark.slow
class TestOpenOnPostgreSQL(abstract.AbstractOpenTests, OnPostgreSQL):
    pass


@pytest.mark.slow
class TestPipeOnPostgreSQL(abstract.AbstractPipeTests, OnPostgreSQL):
    pass


@pytest.mark.slow
class TestCopyOnPostgreSQL(abstract.AbstractCopyTests, OnPostgreSQL):
    pass


@pytest.mark.slow
class TestGetOnPostgreSQL(abstract.AbstractGetTests, OnPostgreSQL):
    pass


@pytest.mark.slow
class TestPutOnPostgreSQL(abstract.AbstractPutTests, OnPostgreSQL):
    pass
