"""A world for each test."""

from __future__ import annotations

import pytest

from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World


@pytest.fixture
def world() -> World:
    """A world with a repository `repo` and its branch `main`."""
    made = World()
    made.repository()
    return made


@pytest.fixture
def kv(world: World) -> Interposed:
    """The world's store, to step into."""
    return Interposed(world.kv)


@pytest.fixture(autouse=True)
def few_partitions(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Three for objects: a walk that is tried at each of its calls is shorter."""
    if "all_partitions" not in request.fixturenames:
        real = keys.object_partitions
        monkeypatch.setattr(keys, "object_partitions", lambda repo: real(repo)[:3])


@pytest.fixture
def all_partitions() -> None:
    """As they are."""
