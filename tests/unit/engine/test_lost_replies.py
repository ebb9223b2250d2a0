"""A reply is lost at each writing call of each flow, the write done or not: what is answered is true."""

from __future__ import annotations

import pytest

from graveler_core.errors import NoChanges, NotFound, NotUnique, OutcomeUnknown, SlowDown
from graveler_core.records import layout as keys
from tests.unit.engine.flows import FLOWS, prepared, run, seen
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry

MAY_BE_UNKNOWN = {"stage", "put", "remove", "remove what is staged", "stage few", "create branch", "create tag"}
"""Their data is one plain write, or what is sent only once: a second sending could come when somebody has deleted what
the first one made. All others find out, or never needed it.
"""


@pytest.mark.parametrize("happened", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("flow", FLOWS)
def test_one_lost_reply(flow: str, happened: bool) -> None:
    untouched = prepared()
    before = seen(untouched)
    kv = Interposed(untouched.kv)
    run(flow, untouched, kv)
    after = seen(untouched)
    assert kv.writes
    for number in kv.writes:
        world = prepared()
        kv = Interposed(world.kv)
        kv.lose[number] = happened
        try:
            run(flow, world, kv)
        except OutcomeUnknown:
            assert flow in MAY_BE_UNKNOWN, f"{flow}: unknown after call {number}, {kv.verbs}"
            assert seen(world) in (before, after)
            run(flow, world)
        assert seen(world) == after, f"{flow}: reply of call {number} lost, {kv.verbs}"


@pytest.mark.parametrize("flow", FLOWS)
def test_all_replies_are_lost(flow: str) -> None:
    """The store does all it is told and never says so: nothing is half done, and another try ends it."""
    world = prepared()
    before = seen(world)
    run(flow, world)
    after = seen(world)
    world = prepared()
    kv = Interposed(world.kv)
    kv.lose = dict.fromkeys(range(100), True)
    kv.lose[100] = False
    try:
        run(flow, world, kv)
    except (OutcomeUnknown, NotFound, SlowDown):
        assert seen(world) in (before, after)
    try:
        run(flow, world)
    except (NoChanges, NotUnique, NotFound):
        # A creation that went under half-way holds its name until it is declared failed.
        assert seen(world) == (before if flow == "create repository" else after)


def test_a_commit_is_not_denied_because_a_later_one_is_damaged() -> None:
    """The response of the swap is lost, another process commits, and the head cannot be read."""
    world = World()
    world.repository()
    world.branch().stage("a", entry(1))
    rehearsal = world.fork()
    kv = Interposed(rehearsal.kv)
    rehearsal.graveler(kv).repository("repo").branch("main").commit("mine")
    swap = kv.verbs.index("write_and_swap")

    def damage() -> None:
        main = world.branch()
        main.stage("b", entry(2))
        where = keys.commit(main._record, main.commit("on top").id)
        world.kv.delete(where.partition, where.key)

    kv = Interposed(world.kv)
    kv.lose[swap] = True
    kv.before[swap + 1] = damage
    with pytest.raises(OutcomeUnknown, match="did not confirm"):
        world.graveler(kv).repository("repo").branch("main").commit("mine")
