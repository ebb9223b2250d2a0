"""A world for each test, and hashes that cost little: what they cost is argon2's business."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from graveler_core.facade.access import Access
from graveler_core.iam import hashing
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


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
