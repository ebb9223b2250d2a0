"""Runs of hooks after a change: what is left when the store fails, and when a delivery comes before the process."""

from __future__ import annotations

from datetime import timedelta

import pytest

from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.errors import OutcomeUnknown, Unavailable
from graveler_core.kv.store import Predicate
from graveler_core.model.hook_runs import HookRequest, HookRun, HookState
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.stores import Hook
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.protocol.test_hooks import POST, Receiver, hooked, opened, repository
from tests.unit.engine.world import World


def test_no_run_is_left_if_another_run_could_not_be_stored() -> None:
    """The change certainly did not happen, so nothing about it is pending, or becomes uncertain."""
    world = World()
    world.repository()
    repo = repository(world, Receiver())
    for name in ("first", "second"):
        hooked(repo, "post-create-branch", name=name)
    rehearsal, kv = Interposed(world.fork().kv), Interposed(world.kv)
    repository(world, Receiver(), rehearsal).create_branch("dev", "main")
    second = [number for number in rehearsal.writes if rehearsal.verbs[number] == "set_if"][1]
    kv.fail[second] = unavailable()
    with pytest.raises(Unavailable):
        repository(world, Receiver(), kv).create_branch("dev", "main")
    assert not list(repo.hook_runs())


@pytest.mark.parametrize("fails", [False, True])
def test_a_slow_function_has_its_own_result_in_the_end(fails: bool) -> None:
    """A delivery assumes after ten minutes that its process has ended. The process knows better."""
    world = World()
    world.repository()
    others = repository(world, Receiver())
    assumed: list[HookRun] = []

    def slow(request: HookRequest, _: object) -> None:
        world.clock.time += timedelta(minutes=11)
        assert others.deliver_hooks() == HookDeliveries(failed=1)
        assumed.extend(others.hook_runs())
        if fails:
            raise ValueError("too slow")

    functions = (Hook("slow", slow, (POST,)),)
    opened(world, Receiver(), functions=functions).repository("repo").branch("main").commit("m", allow_empty=True)
    assert [run.message for run in assumed] == [
        "the process that has the function stored no result in time; it has probably ended"
    ]
    (run,) = others.hook_runs()
    assert (run.state, run.message) == ((HookState.FAILED, "ValueError: too slow") if fails else (HookState.PASSED, ""))


class Deaf(Interposed):
    """A plain store that loses the first requests to swap a branch, so that their outcome is unknown."""

    lost = 0

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if key.startswith(b"branches/") and self.lost < LOST_ANSWERS:
            self.lost += 1
            raise OutcomeUnknown("the request was lost")
        return super().set_if(partition, key, value, predicate)


def test_a_commit_whose_swap_is_repeated_has_one_run() -> None:
    """Otherwise a delivery would call the hook again under another id, and the receiver could not recognize it."""
    world, receiver = World(), Receiver()
    world.repository()
    repo = hooked(repository(world, receiver), POST)
    deaf = Deaf(world.kv)
    repository(world, receiver, deaf).branch("main").commit("m", allow_empty=True)
    assert deaf.lost == LOST_ANSWERS
    world.clock.time += timedelta(minutes=11)
    assert repo.deliver_hooks() == HookDeliveries()
    assert receiver.events() == [POST]
    assert len(list(repo.hook_runs())) == 1
