"""A repository with some of everything, dumped once; stores to restore it into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from tests.postgresql_server import fresh_schema, running_server
from tests.unit.transfer.moves import Original, original

Open = Callable[[str], Store]


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


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def kv(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    else:
        url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/meta.db?durability=process"
    with closing(open_store(url)) as store:
        yield store


@pytest.fixture(scope="session")
def made() -> Original:
    """The repository; nobody changes it."""
    return original()
