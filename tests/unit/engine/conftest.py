"""A world for each test."""

from __future__ import annotations

import pytest

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
