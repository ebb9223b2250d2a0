"""A repository with some of everything, dumped once; stores to restore it into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from tests.unit.transfer.moves import Original, original

Open = Callable[[str], Store]


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
