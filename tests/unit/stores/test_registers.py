"""The age of cached registers counts from the beginning of the read, and a swap does not change it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.swap import swap
from graveler_core.errors import Conflict, Kind
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.sweep import GRACE
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.stores import RegisterCache, Stores
from graveler_core.stores.registers import KEPT
from tests.unit.engine.interposed import Interposed
from tests.unit.gc.lake import Lake

REPO, MAIN = RepositoryId("repo"), BranchId("main")


def process(lake: Lake, kv: Interposed) -> Stores:
    """A process whose cache follows the clock of the test."""

    def now() -> float:
        return lake.world.clock.time.timestamp()

    return replace(lake.world.stores(kv), registers=RegisterCache(now=now))


def is_cached(stores: Stores) -> bool:
    return stores.registers.get(REPO, MAIN) is not None


def test_a_slow_read_makes_an_old_copy(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    kv = Interposed(lake.world.kv)
    stores = process(lake, kv)
    fresh(stores, REPO, MAIN)
    assert is_cached(stores)
    kv.before[len(kv.verbs)] = partial(lake.sleep, KEPT)
    fresh(stores, REPO, MAIN)
    assert not is_cached(stores)


def test_a_swap_makes_no_copy_younger(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    stores = process(lake, Interposed(lake.world.kv))
    now = fresh(stores, REPO, MAIN)
    lake.sleep(KEPT - timedelta(seconds=1))
    after = swap(stores, now, now.branch)
    assert after is not None
    assert stores.registers.get(REPO, MAIN) == after
    lake.sleep(timedelta(seconds=1))
    assert not is_cached(stores)


def test_a_process_that_was_slow_learns_of_the_first_collection(tmp_path: Path) -> None:
    """Its commit began before the first collection, and its cache has the repository record of that time."""
    lake = Lake(tmp_path)
    lost = lake.branch().put("x", b"lost")
    lake.branch().put("x", b"kept")
    lake.sleep(GRACE)
    kv = Interposed(lake.world.kv)
    main = Graveler(process(lake, kv)).repository("repo").branch("main")
    main.list()

    def condemn() -> None:
        assert lake.collect().condemned == 1
        lake.sleep(GRACE / 2)

    def delete() -> None:
        lake.sleep(GRACE / 2)
        assert lake.collect().deleted == 1

    rehearsal = Interposed(lake.world.fork().kv)
    Graveler(process(lake, rehearsal)).repository("repo").branch("main").commit("kept")
    kv.before[len(kv.verbs) + rehearsal.verbs.index("set_if")] = condemn
    main.commit("kept")
    kv.before[len(kv.verbs)] = delete
    with pytest.raises(Conflict) as refused:
        main.stage("again", lost)
    assert refused.value.kind is Kind.ContentCollected
    assert not lake.missing()
