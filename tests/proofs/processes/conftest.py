"""PostgreSQL, really running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgresql_server import fresh_schema, running_server


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
