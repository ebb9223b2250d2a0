"""The age of cached registers counts from the beginning of the read, and a swap does not change it."""

from __future__ import annotations

from collections.abc import Iterator
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


def test_content_that_was_collected_while_others_were_uploaded_is_not_staged(tmp_path: Path) -> None:
    """For example on a machine that was suspended. The process has read the repository after its first collection."""
    lake = Lake(tmp_path)
    lake.branch().put("x", b"x")
    lake.branch().commit("x")
    lake.branch().put("old", b"old")
    lake.branch().put("old", b"new")
    lake.sleep(GRACE)
    assert lake.collect().condemned == 1
    lake.sleep(GRACE)
    assert lake.collect().deleted == 1
    main = Graveler(process(lake, Interposed(lake.world.kv))).repository("repo").branch("main")

    def late() -> Iterator[bytes]:
        for _ in range(2):
            lake.sleep(GRACE)
            lake.collect()
        yield b"late"

    with pytest.raises(Conflict) as refused:
        main.put_many({"a": b"early", "b": late()})
    assert refused.value.kind is Kind.ContentCollected
    assert not lake.missing()


def test_a_copy_that_was_too_old_once_is_not_young_again(tmp_path: Path) -> None:
    """The clock is set back after the copy was found too old."""
    lake = Lake(tmp_path)
    stores = process(lake, Interposed(lake.world.kv))
    fresh(stores, REPO, MAIN)
    assert is_cached(stores)
    lake.sleep(KEPT)
    assert not is_cached(stores)
    lake.sleep(-KEPT)
    assert not is_cached(stores)
