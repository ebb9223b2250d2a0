"""Deliveries and repetitions of hooks: runs that cannot be delivered, competing calls, and crashes of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from graveler_core.engine.protocol.hooks import LEASE
from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.errors import CorruptData, GravelerError, InvalidInput, Kind, OutcomeUnknown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.hook_runs import HookState
from graveler_core.model.webhooks import Webhook
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.stores import HookAnswer, Hooks
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.protocol.test_hooks import POST, Receiver, dies, repository
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


def again(repo: Repository) -> None:
    repo.repeat_hook(next(repo.hook_runs()).request.run_id)


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


@pytest.mark.parametrize("changes", [False, True])
def test_a_pending_run_is_not_repeated(receiver: Receiver, changes: bool) -> None:
    """Only a delivery can tell if its change has happened."""
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
        kv.before[number] = lambda world=world, receiver=receiver, others=others: others.append(
            error_of(lambda: act(repository(world, receiver)))
        )
        mine = error_of(lambda repo=repeating: repo.repeat_hook(run.request.run_id))
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


LATER: dict[str, Act] = {
    "reset": lambda repo: repo.branch("dev").hard_reset(repo.branch("main").record().commit_id),
    "deletion": lambda repo: repo.delete_branch("dev"),
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("repeats", [False, True])
def test_a_call_that_was_cut_off_is_made_again_whatever_happened_to_the_branch(
    receiver: Receiver, later: str, repeats: bool
) -> None:
    """The process knew that the change had happened. What the branch shows later does not matter."""
    world, repo = opened(receiver)
    cut_off = Graveler(replace(world.stores(), hooks=Hooks(send=dies))).repository("repo")
    if repeats:
        commit(hook(repo, POST), "dev")
        receiver.told.clear()
        LATER[later](repo)
        with pytest.raises(Crash):
            again(cut_off)
    else:
        with pytest.raises(Crash):
            commit(hook(cut_off, POST), "dev")
        LATER[later](repo)
    world.clock.time += 2 * DAY
    assert repo.deliver_hooks() == HookDeliveries(passed=1)
    assert receiver.events() == [POST]
    assert [run.attempts for run in repo.hook_runs()] == [3 if repeats else 2]
