"""PostgreSQL, really running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgresql_server import running_server


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server."""
    with running_server(tmp_path_factory) as url:
        yield url
