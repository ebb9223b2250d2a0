"""Spark, a storage namespace, PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flights_data import delivered
from tests.postgresql_server import fresh_schema, running_server
from tests.spark_session import spark

__all__ = ["delivered", "spark"]


@pytest.fixture
def namespace(tmp_path: Path) -> str:
    """A storage namespace whose path would need escaping in a URI."""
    return (tmp_path / "a lake, 100 % real").as_uri()


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server."""
    with running_server(tmp_path_factory) as url:
        yield url


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty schema on it."""
    with fresh_schema(postgresql_server) as url:
        yield url
