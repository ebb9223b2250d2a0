"""Deliveries of hooks: changes that happened or not, runs that cannot be delivered, and calls that were cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from graveler_core.engine.protocol.hook_calls import LEASE
from graveler_core.engine.repositories.hook_delivery import KEPT, HookDeliveries
from graveler_core.errors import CorruptData, Kind, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import GRACE
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.hook_runs import HookState
from graveler_core.model.ids import CommitId
from graveler_core.model.operations import Put
from graveler_core.model.past import MOST_MOVES
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.stores import Hooks
from tests.unit.engine.dying import Act, commit, dying, hook, opened
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.protocol.test_hooks import POST, Receiver, dies, repository
from tests.unit.engine.world import World, entry
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)


def damage(world: World, repo: Repository, location: Callable[[RepositoryRecord], Location[Any]]) -> None:
    where = location(repo._active())
    world.kv.set(where.partition, where.key, b"damaged")


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


@pytest.mark.parametrize("lost", ["main", "main~1", "main~2"])
def test_a_run_below_a_commit_that_is_missing_stays(receiver: Receiver, lost: str) -> None:
    """Also if the missing commit is its own: no collection removes what a branch leads to."""
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    for _ in range(2):
        commit(repo)
    receiver.told.clear()
    missing = repo.commit(lost).id
    where = keys.commit(repo._active(), missing)
    world.kv.delete(where.partition, where.key)
    world.clock.time += 2 * DAY
    with pytest.raises(CorruptData, match=r"1 run of a hook could not be delivered, .* does not exist") as bad:
        repository(world, receiver).deliver_hooks()
    assert (bad.value.kind, bad.value.details["commit"]) == (Kind.CorruptCommit, missing)
    assert [run.state for run in repo.hook_runs()][-1] is HookState.PENDING
    assert not receiver.told


@pytest.mark.parametrize("replays", [False, True])
def test_a_run_whose_commit_was_removed_after_a_reset_did_not_happen(
    tmp_path: Path, receiver: Receiver, replays: bool
) -> None:
    """A replay of several commits loses the parent of its last one, too."""
    lake = Lake(tmp_path)
    lake.collect(NOW)
    repo = hook(repository(lake.world, receiver), "post-commit", "post-merge")
    repo.create_branch("topic", "main")
    for name in ("t1", "t2"):
        repo.branch("topic").transact([Put(name, entry(1))], message=name)
    commit(repo)
    act: Act = (lambda repo: repo.merge("topic", into="main", replay=True)) if replays else commit
    dying(lake.world, act, changes=False)
    commit(repo)
    repo.branch("main").hard_reset("main~1")
    receiver.told.clear()
    for _ in range(2):
        lake.sleep(GRACE + DAY)
        lake.collect()
    assert repository(lake.world, receiver).deliver_hooks().withdrawn == 1
    assert not receiver.told


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


@pytest.mark.parametrize("happens", [True, False])
def test_the_lease_of_a_run_from_a_clock_far_ahead_begins_again(receiver: Receiver, happens: bool) -> None:
    """Else its webhook would not be called until that time. A run whose change can still happen is kept for a day."""
    world, repo = opened(receiver)
    hook(repo, POST)
    world.clock.time += timedelta(days=365)
    dying(world, commit, changes=happens)
    world.clock.time -= timedelta(days=365)
    assert repo.deliver_hooks() == HookDeliveries(waiting=1)
    world.clock.time += LEASE
    assert repo.deliver_hooks() == (HookDeliveries(passed=1) if happens else HookDeliveries(waiting=1))
    world.clock.time += DAY
    assert repo.deliver_hooks() == (HookDeliveries() if happens else HookDeliveries(withdrawn=1))
    assert receiver.events() == [POST] * happens


def test_a_delivery_whose_clock_is_behind_withdraws_nothing_early(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit, changes=False)
    world.clock.time -= 365 * DAY
    assert repo.deliver_hooks() == HookDeliveries(waiting=1)
    world.clock.time += 365 * DAY
    assert repo.deliver_hooks() == HookDeliveries(waiting=1)


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
            cut_off.repeat_hook(next(repo.hook_runs()).request.run_id)
    else:
        with pytest.raises(Crash):
            commit(hook(cut_off, POST), "dev")
        LATER[later](repo)
    world.clock.time += 2 * DAY
    assert repo.deliver_hooks() == HookDeliveries(passed=1)
    assert receiver.events() == [POST]
    assert [run.attempts for run in repo.hook_runs()] == [3 if repeats else 2]


def tagged(receiver: Receiver) -> tuple[World, Repository, CommitId, CommitId]:
    """A tag that nothing has moved, its commit, another commit, and a hook."""
    world, repo = opened(receiver)
    commit(repo, "dev")
    main, dev = (repo.branch(name).record().commit_id for name in ("main", "dev"))
    repo.create_tag("v1", main)
    return world, hook(repo, "post-create-tag"), main, dev


def assign(repo: Repository, to: CommitId) -> None:
    repo.assign_tag("v1", to, expected=repo.tag("v1").commit_id)


def test_an_assignment_that_another_one_preceded_did_not_happen(receiver: Receiver) -> None:
    """The tag was assigned to the same commit later, in another change."""
    world, repo, _, dev = tagged(receiver)
    dying(world, lambda repo: assign(repo, dev), changes=False)
    commit(repo)
    assign(repo, repo.branch("main").record().commit_id)
    assign(repo, dev)
    receiver.told.clear()
    world.clock.time += DAY
    assert repo.deliver_hooks() == HookDeliveries(withdrawn=1)
    assert not receiver.told


@pytest.mark.parametrize("moves", range(MOST_MOVES + 2))
def test_an_assignment_is_uncertain_when_the_tag_does_not_remember_it(receiver: Receiver, moves: int) -> None:
    world, repo, main, dev = tagged(receiver)
    dying(world, lambda repo: assign(repo, dev))
    commit(repo)
    head = repo.branch("main").record().commit_id
    for number in range(moves):
        assign(repo, (main, head)[number % 2])
    receiver.told.clear()
    world.clock.time += DAY
    remembered = moves <= MOST_MOVES
    assert repo.deliver_hooks() == (HookDeliveries(passed=1) if remembered else HookDeliveries(uncertain=1))
    assert [told["commit_id"] for told in receiver.told] == [dev] * remembered


def test_a_result_is_kept_from_the_call_on(receiver: Receiver) -> None:
    """The hook was called long after the change."""
    world, repo = opened(receiver)
    hook(repo, POST)
    dying(world, commit)
    world.clock.time += 2 * KEPT
    assert repo.deliver_hooks() == HookDeliveries(passed=1)
    world.clock.time += KEPT - DAY
    assert repo.deliver_hooks() == HookDeliveries()
    world.clock.time += 2 * DAY
    assert repo.deliver_hooks() == HookDeliveries(removed=1)


def test_a_result_that_is_repeated_before_a_lost_removal_was_not_removed(receiver: Receiver) -> None:
    world, repo = opened(receiver)
    hook(repo, POST)
    commit(repo)
    (run,) = repo.hook_runs()
    world.clock.time += 2 * KEPT
    kv, rehearsal = Interposed(world.kv), Interposed(world.fork().kv)
    slow, rehearsing = (repository(world, receiver, store) for store in (kv, rehearsal))
    kv.reset()
    rehearsal.reset()
    rehearsing.deliver_hooks()
    removal = rehearsal.verbs.index("delete_if")
    kv.before[removal] = lambda: repo.repeat_hook(run.request.run_id)
    kv.lose[removal] = False
    assert slow.deliver_hooks() == HookDeliveries()
    assert [run.request.run_id for run in repo.hook_runs()] == [run.request.run_id]
