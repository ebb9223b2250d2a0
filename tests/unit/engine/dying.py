"""Processes that die at a change of a branch or tag, so that their hooks wait for a delivery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import pytest

from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Item, Predicate, Store
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.protocol.test_hooks import Receiver, repository
from tests.unit.engine.world import World

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


def hook(repo: Repository, *events: str) -> Repository:
    repo.set_hook("hook", "http://receiver/", events, attempts=1)
    return repo
