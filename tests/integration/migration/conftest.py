"""Sources to migrate from, of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.lifecycle.sources import make_tables, opened
from tests.integration.migration.histories import Lake
from tests.postgresql_server import empty_database


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of each kind."""
    with empty_database(request, f"sqlite:///{tmp_path}/source.db") as found:
        yield found


@pytest.fixture
def lake(url: str) -> Lake:
    """Empty tables in it, and a store."""
    with opened(url) as connection:
        make_tables(connection)
    return Lake(url)


@pytest.fixture
def small(tmp_path: Path) -> Lake:
    """The same in a file."""
    url = f"sqlite:///{tmp_path}/small.db"
    with opened(url) as connection:
        make_tables(connection)
    return Lake(url)
