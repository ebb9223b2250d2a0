"""Deliveries and repetitions of hooks that die at any call, or between whose calls others act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from graveler_core.errors import NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.hook_runs import HookState
from tests.unit.engine.dying import Act, commit, dying, hook
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.protocol.test_hooks import POST, Receiver, repository
from tests.unit.engine.world import World

Interrupt = Callable[[Interposed, int, World, Receiver], None]


def waiting() -> World:
    """A commit on `dev` whose hook was not called, and one that did not happen."""
    world = World()
    world.repository().create_branch("dev", "main")
    hook(repository(world, Receiver()), POST)
    dying(world, lambda repo: commit(repo, "dev"))
    dying(world, commit, changes=False)
    return world


def called() -> World:
    """A commit on `dev` whose hook was called."""
    world = World()
    world.repository().create_branch("dev", "main")
    repo = hook(repository(world, Receiver()), POST)
    commit(repo, "dev")
    return world


def deliver(repo: Repository) -> None:
    repo.deliver_hooks()


def again(repo: Repository) -> None:
    repo.repeat_hook(next(repo.hook_runs()).request.run_id)


def interrupted(base: World, act: Act, interrupt: Interrupt) -> Iterator[tuple[World, Receiver]]:
    """Act once for each number of a call, with an interruption there."""
    for number in range(60):
        world, receiver = base.fork(), Receiver()
        kv = Interposed(world.kv)
        repo = repository(world, receiver, kv)
        kv.reset()
        interrupt(kv, number, world, receiver)
        with suppress(Crash, NotFound):
            act(repo)
        if len(kv.verbs) <= number:
            return
        yield world, receiver
    raise AssertionError("the calls do not end")


def dies_there(kv: Interposed, number: int, world: World, receiver: Receiver) -> None:
    kv.fail[number] = Crash()


def settled(world: World, receiver: Receiver) -> list[HookState]:
    """The states of all runs after two more deliveries."""
    for time in (timedelta(minutes=11), timedelta(days=2)):
        world.clock.time += time
        repository(world, receiver).deliver_hooks()
    return [run.state for run in repository(world, receiver).hook_runs()]


@pytest.mark.parametrize(("base", "act", "calls"), [(waiting, deliver, {1, 2}), (called, again, {0, 2})])
def test_a_process_that_dies_at_any_call_loses_no_call_of_a_hook(
    base: Callable[[], World], act: Act, calls: set[int]
) -> None:
    """If it dies after the hook was called, the hook is called twice, with the same id."""
    numbers = set()
    for world, receiver in interrupted(base(), act, dies_there):
        assert settled(world, receiver) == [HookState.PASSED]
        assert len({told["run_id"] for told in receiver.told}) <= 1
        numbers.add(len(receiver.told))
    assert numbers == calls


def others(act: Act) -> Interrupt:
    def interrupt(kv: Interposed, number: int, world: World, receiver: Receiver) -> None:
        kv.before[number] = lambda: act(repository(world, receiver))

    return interrupt


def prune(repo: Repository) -> None:
    repo.deliver_hooks(keep=timedelta(0))


@pytest.mark.parametrize("act", [deliver, prune])
def test_deliveries_at_once_call_each_hook_once(act: Act) -> None:
    for world, receiver in interrupted(waiting(), deliver, others(act)):
        assert receiver.events() == [POST]
        assert settled(world, receiver) in ([HookState.PASSED], [])
        assert receiver.events() == [POST]


def test_a_branch_that_is_deleted_during_a_delivery_leaves_no_run_pending() -> None:
    ends = set()
    for world, receiver in interrupted(waiting(), deliver, others(lambda repo: repo.delete_branch("dev"))):
        states = settled(world, receiver)
        assert receiver.events() == [POST] * (states == [HookState.PASSED])
        ends |= set(states)
    assert ends == {HookState.PASSED, HookState.UNCERTAIN}


def test_a_repository_that_is_deleted_and_restored_loses_no_call() -> None:
    def deleted(kv: Interposed, number: int, world: World, receiver: Receiver) -> None:
        kv.before[number] = lambda: world.graveler().delete_repository("repo")

    for world, receiver in interrupted(waiting(), deliver, deleted):
        world.graveler().undelete_repository("repo")
        assert settled(world, receiver) == [HookState.PASSED]
        assert receiver.events() == [POST]
