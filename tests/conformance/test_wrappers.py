"""`StoreSuite` on every wrapper, around a store with every ability and around one with none, and on all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.counting import Counting
from graveler_core.kv.wrappers.faults import Delay, Faulty
from graveler_core.kv.wrappers.metrics import Metered
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.kv.wrappers.rate import Limited, Rate
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_suite import Opener, StoreSuite

REGISTRY = CollectorRegistry()
RATE = Rate(per_second=1_000_000, burst=100)


def delayed(inner: Store) -> Store:
    """Some calls a little later, so that threads meet in other orders."""
    return Faulty(inner, lambda call, number: Delay(0.0001) if number % 50 == 0 else None)


def all_at_once(inner: Store) -> Store:
    return Counting(Metered(Limited(delayed(Passing(inner)), RATE), REGISTRY))


@pytest.fixture(
    params=[
        Passing,
        Counting,
        lambda inner: Metered(inner, REGISTRY),
        lambda inner: Limited(inner, RATE),
        delayed,
        all_at_once,
    ],
    ids=["passing", "counting", "metered", "limited", "faulty", "all"],
)
def wrapper(request: pytest.FixtureRequest) -> Callable[[Store], Store]:
    chosen: Callable[[Store], Store] = request.param
    return chosen


class TestAroundAbilities(StoreSuite):
    @pytest.fixture
    def opener(self, tmp_path: Path, wrapper: Callable[[Store], Store]) -> Opener:
        return lambda: wrapper(open_store(f"sqlite:///{tmp_path}/kv.db?durability=process"))


class TestAroundNone(StoreSuite):
    @pytest.fixture
    def opener(self, wrapper: Callable[[Store], Store]) -> Opener:
        url = f"memory://{uuid4()}"
        return lambda: wrapper(PlainStore(open_store(url)))
