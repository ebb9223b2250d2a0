"""`StoreSuite` on every wrapper: all at once around a store that overrides every method, and around one with defaults.

Each runs alone around the latter, too, so that no wrapper hides a fault of another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.metrics import Metered
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.faulty_store import Delay, Faulty
from graveler_core.testing.limited_store import Limited, Rate
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_suite import Opener, StoreSuite

REGISTRY = CollectorRegistry()
RATE = Rate(per_second=1_000_000, burst=100)


def delayed(inner: Store) -> Store:
    """Some calls a little later, so that threads meet in other orders."""
    return Faulty(inner, lambda call, number: Delay(0.0001) if number % 50 == 0 else None)


def all_at_once(inner: Store) -> Store:
    return Counting(Metered(Limited(delayed(Passing(inner)), RATE), REGISTRY))


class TestAroundOverrides(StoreSuite):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return lambda: all_at_once(open_store(f"sqlite:///{tmp_path}/kv.db?durability=process"))


@pytest.fixture(
    params=[
        pytest.param(Passing, id="passing", marks=pytest.mark.ci),
        pytest.param(Counting, id="counting", marks=pytest.mark.ci),
        pytest.param(lambda inner: Metered(inner, REGISTRY), id="metered", marks=pytest.mark.ci),
        pytest.param(lambda inner: Limited(inner, RATE), id="limited", marks=pytest.mark.ci),
        pytest.param(delayed, id="faulty", marks=pytest.mark.ci),
        pytest.param(all_at_once, id="all"),
    ],
)
def wrapper(request: pytest.FixtureRequest) -> Callable[[Store], Store]:
    chosen: Callable[[Store], Store] = request.param
    return chosen


class TestAroundDefaults(StoreSuite):
    @pytest.fixture
    def opener(self, wrapper: Callable[[Store], Store]) -> Opener:
        url = f"memory://{uuid4()}"
        return lambda: wrapper(PlainStore(open_store(url)))
