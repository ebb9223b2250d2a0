"""Looking for what earlier attempts made: on the branch's own chain, and no further back than they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.committing.earlier_attempts import TriedCommits, find_by_key, find_tried
from graveler_core.engine.protocol.registers import fresh
from graveler_core.errors import Conflict, GravelerError, OutcomeUnknown, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.entities import Operation
from graveler_core.model.ids import BranchUid, CommitId
from graveler_core.model.operations import Put
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.faulty_store import Late, LoseRequest
from tests.unit.engine.flows import raw
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.races import Interrupted, failing_swap, swaps_branch
from tests.unit.engine.ten_keys import messages, ten_keys
from tests.unit.engine.world import START, World, entry

T = TypeVar("T")


class GoesDown(Passing):
    """Loses the request of every swap of a branch record after the first few, and is away once it is given up."""

    def __init__(self, inner: Store, swaps: int) -> None:
        super().__init__(inner)
        self.left = swaps + LOST_ANSWERS

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        if swaps_branch(call):
            self.left -= 1
            if self.left < LOST_ANSWERS:
                raise OutcomeUnknown("lost")
        elif self.left == 0 and call.verb == "get_many":
            raise Unavailable("away")
        return work()


FLOWS: dict[str, tuple[int, Callable[[Repository], object]]] = {
    "commit": (1, lambda repo: repo.branch("main").commit("m")),
    "transact": (0, lambda repo: repo.branch("main").transact([Put("new", entry(1))], message="m")),
    "import": (0, lambda repo: repo.import_prefix(raw(), "main")),
    "merge": (0, lambda repo: repo.merge("dev", into="main")),
    "squash": (0, lambda repo: repo.merge("dev", into="main", squash=True)),
    "merge repeated": (0, lambda repo: repo.merge("dev", into="main", replay=True)),
    "cherry-pick": (0, lambda repo: repo.cherry_pick("dev", onto="main")),
}


AFTER_RESETS: dict[str, Callable[[Repository], object]] = {
    "commit": lambda repo: repo.branch("main").commit("mine", allow_empty=True),
    "transact": lambda repo: repo.branch("main").transact([Put("new", entry(1))], message="mine"),
    "import": lambda repo: repo.import_prefix(raw(), "main", message="mine", allow_empty=True),
}
"""Flows that a hard reset does not end."""


@pytest.fixture
def world() -> World:
    """A branch of ten entries."""
    return ten_keys()


def test_one_s_own_commit_below_others(world: World) -> None:
    began = world.branch().record().commit_id
    commits = [world.branch().transact([Put(name, entry(1))], message=name) for name in ("mine", "theirs")]
    stores, repo, name = world.branch()._at
    registers = fresh(stores, repo, name)
    found = find_tried(stores, registers, TriedCommits(START, ids={commits[0].id}, bases=[began]))
    assert found is not None
    assert found.id == commits[0].id
    assert find_tried(stores, registers, TriedCommits(START, ids={CommitId("0" * 64)}, bases=[began])) is None


def test_what_is_older_than_the_call_is_not_its_own(world: World) -> None:
    """A fast-forward may try what stood there before; the head it began on is no success of its own."""
    began = world.branch().record().commit_id
    world.branch().transact([Put("theirs", entry(1))], message="theirs")
    stores, repo, name = world.branch()._at
    assert find_tried(stores, fresh(stores, repo, name), TriedCommits(START, ids={began}, bases=[began])) is None


def test_the_walk_ends_where_the_call_began(world: World) -> None:
    """Else each retry would read the whole history."""
    branch = world.branch()
    for n in range(20):
        branch.transact([Put(f"n{n}", entry(n))], message="m")
    kv = Counting(world.kv)
    stores, repo, name = world.branch(kv)._at
    registers = fresh(stores, repo, name)
    began = world.graveler().repository("repo").commit("main~2").id
    kv.reset()
    assert find_tried(stores, registers, TriedCommits(START, bases=[began])) is None
    assert kv.counts == {"get_many": 3}


def test_the_record_of_an_earlier_use_of_a_key_may_be_removed_at_any_time(world: World) -> None:
    repo = world.graveler().repository("repo")._record
    where = keys.operation(repo, "key")

    def old() -> None:
        access.write(world.kv, where, Operation(branch_uid=BranchUid("gone"), base=CommitId("0" * 64), since=START))

    def removed() -> None:
        world.kv.delete(where.partition, where.key)

    rehearsal = Interposed(world.fork().kv)
    world.branch(rehearsal).transact([Put("p", entry(0))], idempotency_key="key", message="m")
    (written,) = [number for number, verb in enumerate(rehearsal.verbs) if verb == "set_if"][:1]
    kv = Interposed(world.kv)
    kv.before = {written: old, written + 1: removed}
    made = world.branch(kv).transact([Put("p", entry(0))], idempotency_key="key", message="m")
    assert world.branch().record().commit_id == made.id


@pytest.mark.parametrize("back", [5, 20])
def test_the_search_for_a_key_ends_where_the_branch_was_before_it(world: World, back: int) -> None:
    """The branch was reset since, so the commit at which the key was first used is not in its history."""
    branch = world.branch()
    for n in range(20):
        branch.transact([Put(f"n{n}", entry(n))], message="m")
    with pytest.raises(Conflict):
        branch.transact([Put("n1", entry(0))], idempotency_key="key", message="m")
    branch.hard_reset(f"main~{back}")
    for n in range(2):
        branch.transact([Put(f"o{n}", entry(n))], message="m")
    kv = Counting(world.kv)
    made = world.branch(kv).transact([Put("p", entry(0))], idempotency_key="key", message="m")
    assert kv.counts["get_many"] < back + 10
    assert world.branch(kv).transact([Put("p", entry(0))], idempotency_key="key", message="m").id == made.id


@pytest.mark.parametrize("calls", [6, 8])
@pytest.mark.parametrize("flow", AFTER_RESETS)
def test_one_s_own_late_commit_after_a_reset(world: World, flow: str, calls: int) -> None:
    """The first swap comes after the reset. The next one takes effect after it was taken for lost, and its commit has a
    lower generation than the head when the call began.
    """
    for name in ("a", "b", "c"):
        world.branch().transact([Put(name, entry(1))], message=name)
    late = failing_swap(world.kv, None, Late(calls), *[LoseRequest()] * (LOST_ANSWERS - 1))
    kv = Interrupted(late, lambda: world.branch().hard_reset("main~3"))
    AFTER_RESETS[flow](world.graveler(kv).repository("repo"))
    assert messages(world) == ["mine", "begin"]


def outcome_of_an_undone_commit(flow: str, calls: int, *, again: bool) -> type[Exception] | None:
    """The first swap gets no response, and arrives after some calls. What it has done is undone before the next call.

    Returns:
        Class of the error of the flow, if there was one.
    """
    world = ten_keys()
    repo, heads = world.graveler().repository("repo"), list[CommitId]()
    begin = repo.commit("main").id

    def has_moved(_: StoreCall) -> bool:
        heads.append(repo.commit("main").id)
        return heads[-1] != begin

    def undo() -> None:
        if again:
            repo.create_branch("other", begin)
            repo.update_settings(default_branch="other")
            repo.delete_branch("main")
            repo.create_branch("main", begin)
        else:
            repo.branch("main").hard_reset(begin)

    late = failing_swap(world.kv, Late(calls), *[LoseRequest()] * (LOST_ANSWERS - 1))
    found = None
    try:
        AFTER_RESETS[flow](world.graveler(Interrupted(late, undo, before=has_moved)).repository("repo"))
    except OutcomeUnknown as unknown:
        found = type(unknown)
    made = {*heads, repo.commit("main").id} - {begin}
    assert len(made) <= 1, f"after {calls} calls"
    return found


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("flow", AFTER_RESETS)
def test_a_late_commit_that_was_undone_is_not_made_again(flow: str, again: bool) -> None:
    outcomes = [outcome_of_an_undone_commit(flow, calls, again=again) for calls in range(4, 16)]
    assert {*outcomes} == {OutcomeUnknown, None}


def test_without_a_key_nothing_is_looked_for(world: World) -> None:
    kv = Counting(world.kv)
    stores, repo, name = world.branch(kv)._at
    registers = fresh(stores, repo, name)
    kv.reset()
    assert find_by_key(stores, registers, Draft("m")) is None
    assert kv.round_trips == 0


@pytest.mark.parametrize("flow", FLOWS)
def test_a_swap_without_an_answer_is_not_forgotten(world: World, flow: str) -> None:
    """It is taken for lost, and then the store is away: the swap may still arrive, so nobody says that it did not."""
    repo = world.graveler().repository("repo")
    dev = repo.create_branch("dev", "main")
    dev.stage("dev", entry(1))
    dev.commit("on dev")
    swaps, act = FLOWS[flow]
    if flow == "commit":
        world.branch().stage("new", entry(1))
    mine = world.graveler(GoesDown(world.kv, swaps)).repository("repo")
    with pytest.raises(OutcomeUnknown) as caught:
        act(mine)
    assert caught.value.details["commit"] not in {commit.id for commit in repo.log("main")}
    assert isinstance(caught.value.__cause__, Unavailable)


def test_without_such_a_swap_errors_are_what_they_are() -> None:
    failure: GravelerError = Unavailable("away")
    with pytest.raises(Unavailable), TriedCommits(START).reported():
        raise failure
