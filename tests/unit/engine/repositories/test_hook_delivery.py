"""Deliveries and repetitions of hooks: runs that cannot be delivered, competing calls, and crashes of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.errors import CorruptData, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.hook_runs import HookState
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from tests.unit.engine.interposed import Crash, Interposed, unavailable
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


def commit(repo: Repository, branch: str = "main") -> None:
    repo.branch(branch).commit("m", allow_empty=True)


def opened(receiver: Receiver) -> tuple[World, Repository]:
    """A repository with the branches `main` and `dev`."""
    world = World()
    world.repository().create_branch("dev", "main")
    return world, repository(world, receiver)


def damage(world: World, repo: Repository, location: Callable[[RepositoryRecord], Location[Any]]) -> None:
    where = location(repo._active())
    world.kv.set(where.partition, where.key, b"damaged")


def hook(repo: Repository, *events: str) -> Repository:
    repo.set_hook("hook", "http://receiver/", events, attempts=1)
    return repo


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def test_a_run_whose_commit_was_removed_did_not_happen(tmp_path: Path, receiver: Receiver) -> None:
    """A collection removed a commit that no branch had reached, before a delivery looked at its run."""
    lake = Lake(tmp_path)
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


def test_a_run_that_cannot_be_delivered_is_reported_after_the_others(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    dying(world, lambda repo: commit(repo, "dev"))
    head = repo.branch("dev").record().commit_id
    damage(world, repo, lambda record: keys.commit(record, head))
    with pytest.raises(CorruptData, match=r"1 run of a hook could not be delivered, the others were; .* commit") as bad:
        repo.deliver_hooks()
    assert bad.value.details["commit"] == head
    assert [told["branch_id"] for told in receiver.told] == ["main"]
    assert [(run.request.branch_id, run.state) for run in repo.hook_runs()] == [
        ("dev", HookState.PENDING),
        ("main", HookState.PASSED),
    ]


def test_a_damaged_record_of_a_run_is_reported_after_the_others(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    dying(world, commit)
    newest = next(repo.hook_runs()).request.run_id
    damage(world, repo, lambda record: keys.hook_runs(record).at(newest))
    with pytest.raises(CorruptData, match="1 run of a hook could not be delivered"):
        repo.deliver_hooks()
    assert receiver.events() == [POST]


def test_a_delivery_ends_when_the_store_is_away(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    dying(world, commit)
    kv = Interposed(world.kv)
    delivering = repository(world, receiver, kv)
    kv.reset()
    kv.fail = dict.fromkeys(range(3, 100), unavailable())
    with pytest.raises(Unavailable, match=r"^the store is away$"):
        delivering.deliver_hooks()
    assert len(kv.verbs) == 4


def test_a_lost_response_leaves_a_run_to_the_next_delivery(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, lambda repo: commit(repo, "dev"), changes=False)
    dying(world, commit)
    world.clock.time += DAY
    kv = Interposed(world.kv)
    delivering = repository(world, receiver, kv)
    kv.reset()
    kv.lose = dict.fromkeys(range(100), False)
    assert delivering.deliver_hooks() == HookDeliveries(waiting=2)
    assert repo.deliver_hooks() == HookDeliveries(passed=1, withdrawn=1)
    assert receiver.events() == [POST]
