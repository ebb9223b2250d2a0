"""A world for each test, and cheap hashes."""

from __future__ import annotations

import pytest

from graveler_core.facade.access import Access
from tests.cheap_hashes import cheap_hashes
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World

__all__ = ["cheap_hashes"]


@pytest.fixture
def world() -> World:
    """Nothing in it yet."""
    return World()


@pytest.fixture
def iam(world: World) -> Access:
    return world.graveler().iam


@pytest.fixture
def kv(world: World) -> Interposed:
    """The world's store, to step into."""
    return Interposed(world.kv)
