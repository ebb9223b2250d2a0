"""Repetitions of hooks: runs that are refused, and other processes that act meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from graveler_core.engine.protocol.hook_calls import LEASE
from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.errors import GravelerError, InvalidInput, Kind, OutcomeUnknown
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.webhooks import Webhook
from graveler_core.stores import HookAnswer, Hooks
from tests.unit.engine.dying import Act, commit, dying, hook, opened
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.protocol.test_hooks import POST, Receiver, repository
from tests.unit.engine.world import World


def again(repo: Repository) -> None:
    repo.repeat_hook(next(repo.hook_runs()).request.run_id)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.mark.parametrize("changes", [False, True])
def test_a_pending_run_is_not_repeated(receiver: Receiver, changes: bool) -> None:
    """Only a delivery can tell whether its change has happened."""
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit, changes=changes)
    (run,) = repo.hook_runs()
    with pytest.raises(
        InvalidInput, match=r"is pending; `graveler hook deliver` \(deliver_hooks\) finds out"
    ) as refused:
        repo.repeat_hook(run.request.run_id)
    assert refused.value.details == {"state": "pending", "due": run.due}
    assert not receiver.told
    assert list(repo.hook_runs()) == [run]


def test_a_run_is_not_repeated_while_another_process_calls_its_webhook(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    until = f"{world.clock.now() + LEASE:%Y-%m-%d %H:%M}"

    def during(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        with pytest.raises(InvalidInput, match=rf"is pending; until {until}:\d\d UTC, another process may .* call"):
            repo.repeat_hook(run_id)
        return receiver(hook, run_id, event, body)

    delivering = Graveler(replace(world.stores(), hooks=Hooks(send=during))).repository("repo")
    assert delivering.deliver_hooks() == HookDeliveries(passed=1)
    assert receiver.events() == [POST]


def during_a_repetition(act: Act) -> Iterator[tuple[Receiver, Exception | None, Exception | None]]:
    """The receiver and both errors, for each repetition in which another process acts between two calls."""
    base = World()
    base.repository()
    repo = hook(repository(base, Receiver({"hook": [HookAnswer(500, "")]})), POST)
    commit(repo)
    (run,) = repo.hook_runs()
    for number in range(40):
        world, receiver = base.fork(), Receiver()
        kv, others = Interposed(world.kv), list[Exception | None]()
        repeating = repository(world, receiver, kv)
        kv.reset()
        other = partial(error_of, partial(act, repository(world, receiver)))
        kv.before[number] = lambda others=others, other=other: others.append(other())
        mine = error_of(partial(repeating.repeat_hook, run.request.run_id))
        if kv.before:
            return
        yield receiver, mine, others[0]
    raise AssertionError("the repetition does not end")


def error_of(act: Callable[[], object]) -> Exception | None:
    try:
        act()
    except GravelerError as e:
        return e
    return None


def test_two_repetitions_at_once_say_what_they_did() -> None:
    reasons = set()
    for receiver, mine, other in during_a_repetition(
        lambda repo: repo.repeat_hook(next(repo.hook_runs()).request.run_id)
    ):
        assert len(receiver.told) == (mine is None) + (other is None)
        reasons |= {str(e).split(": ")[1].split(";")[0] for e in (mine, other) if e is not None}
    assert reasons == {"another process called its webhook meanwhile", "is pending"}


def test_a_run_that_is_removed_while_it_is_repeated_is_not_found() -> None:
    kinds = set()
    for receiver, mine, other in during_a_repetition(lambda repo: repo.deliver_hooks(keep=timedelta(0))):
        assert other is None
        assert len(receiver.told) == (mine is None)
        kinds |= {mine.kind} if isinstance(mine, GravelerError) else set()
    assert kinds == {Kind.HookNotFound}


def test_a_repetition_with_lost_responses_has_an_unknown_outcome(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    commit(hook(repo, POST))
    (run,) = repo.hook_runs()
    kv = Interposed(world.kv)
    repeating = repository(world, receiver, kv)
    kv.reset()
    kv.lose = dict.fromkeys(range(100), False)
    with pytest.raises(OutcomeUnknown):
        repeating.repeat_hook(run.request.run_id)
    assert receiver.events() == [POST]
    assert list(repo.hook_runs()) == [run]
