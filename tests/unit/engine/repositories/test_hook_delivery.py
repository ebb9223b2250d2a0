"""Deliveries and repetitions of hooks: runs that cannot be delivered, competing calls, and crashes of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.store import Item, Predicate, Store
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.protocol.test_hooks import POST, Receiver, repository
from tests.unit.engine.world import World
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)
REFERENCES = (b"branches/", b"tags/")
T = TypeVar("T")
Act = Callable[[Repository], object]


class Dying(Interposed):
    """A plain store whose process dies before, or after, its first change of a branch or tag."""

    def __init__(self, inner: Store, *, changes: bool) -> None:
        super().__init__(inner)
        self.changes = changes

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        return self._change(key, lambda: super(Dying, self).set_if(partition, key, value, predicate))

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        return self._change(swapped[1], lambda: super(Dying, self).write_and_swap(items, swapped, predicate))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self._change(key, lambda: super(Dying, self).delete_if(partition, key, predicate))

    def _change(self, key: bytes, call: Callable[[], T]) -> T:
        if not key.startswith(REFERENCES):
            return call()
        if self.changes:
            call()
        raise Crash


def dying(world: World, act: Act, *, changes: bool = True) -> None:
    """Act in a process that dies before its hooks are called after the change, or even before the change."""
    with pytest.raises(Crash):
        act(repository(world, Receiver(), Dying(world.kv, changes=changes)))
    world.clock.time += timedelta(minutes=11)


def commit(repo: Repository) -> None:
    repo.branch("main").commit("m", allow_empty=True)


def hook(repo: Repository, *events: str) -> Repository:
    repo.set_hook("hook", "http://receiver/", events, attempts=1)
    return repo


def test_a_run_whose_commit_was_removed_did_not_happen(tmp_path: Path) -> None:
    """A collection removed a commit that no branch had reached, before a delivery looked at its run."""
    lake, receiver = Lake(tmp_path), Receiver()
    lake.collect(NOW)  # from now on, commits that nothing reaches are removed
    repo = hook(repository(lake.world, receiver), POST)
    dying(lake.world, commit)
    dying(lake.world, commit, changes=False)
    made, (lost, _) = repo.branch("main").record().commit_id, repo.hook_runs()
    for _ in range(2):
        lake.sleep(GRACE + DAY)
        lake.collect()
    assert lost.request.commit_id not in {found.id for found in repo.commits()}
    assert repo.deliver_hooks() == HookDeliveries(passed=1, withdrawn=1)
    assert [told["commit_id"] for told in receiver.told] == [made]
    assert [run.request.commit_id for run in repo.hook_runs()] == [made]
