"""Looking for what earlier attempts made: on the branch's own chain, and no further back than they can be."""

from __future__ import annotations

import pytest

from graveler_core.engine.draft import Draft
from graveler_core.engine.earlier import made_by_call, made_under_key
from graveler_core.engine.registers import fresh
from graveler_core.kv.wrappers.counting import Counting
from graveler_core.model.ids import CommitId
from graveler_core.model.operations import Put
from tests.unit.engine.ten_keys import ten_keys
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """A branch of ten entries."""
    return ten_keys()


def test_one_s_own_commit_below_others(world: World) -> None:
    began = world.branch().record().commit_id
    commits = [world.branch().transact([Put(name, entry(1))], message=name) for name in ("mine", "theirs")]
    stores, repo, name = world.branch()._at
    registers = fresh(stores, repo, name)
    found = made_by_call(stores, registers, {commits[0].id}, began)
    assert found is not None
    assert found.id == commits[0].id
    assert made_by_call(stores, registers, {CommitId("0" * 64)}, began) is None


def test_what_is_older_than_the_call_is_not_its_own(world: World) -> None:
    """A fast-forward may try what stood there before; the head it began on is no success of its own."""
    began = world.branch().record().commit_id
    world.branch().transact([Put("theirs", entry(1))], message="theirs")
    stores, repo, name = world.branch()._at
    assert made_by_call(stores, fresh(stores, repo, name), {began}, began) is None


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
    assert made_by_call(stores, registers, (), began) is None
    assert kv.counts == {"get_many": 3}


def test_without_a_key_nothing_is_looked_for(world: World) -> None:
    kv = Counting(world.kv)
    stores, repo, name = world.branch(kv)._at
    registers = fresh(stores, repo, name)
    kv.reset()
    assert made_under_key(stores, registers, Draft("m")) is None
    assert kv.round_trips == 0
