"""A restoration that has not ended is reported, until the same dump is restored again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis
from graveler_core.diagnostics.doctor.examining import examine
from graveler_core.diagnostics.doctor.of_repositories import RESTORATION_TIME
from graveler_core.model.dump import Restoration
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.diagnostics.readonly import read_only
from tests.unit.engine.world import World, entry


def told(world: World) -> list[Diagnosis]:
    found = examine(read_only(world.stores())).found
    return [each for each in found if each.ailment is Ailment.RESTORATION_STUCK]


def test_a_restoration_that_has_not_ended_is_told_until_it_ends() -> None:
    world = World()
    world.clock.time = datetime.now(UTC)  # objects in memory bear the machine's time
    repo = world.repository()
    repo.branch("main").stage("a", entry(1))
    repo.branch("main").commit("begin")
    uri = f"{world.namespace('dumps')}/dump"
    dumped = repo.dump_refs(uri)
    bare = world.graveler().create_bare_repository("bare", world.namespace("bare"), ephemeral=True)
    world.clock.time += timedelta(days=1)
    assert told(world) == []  # a bare repository alone is no restoration
    record = Restoration(digest=dumped.digest, since=world.clock.now())
    access.create(world.kv, keys.restoration(bare._record), record)  # as a process that died then
    world.clock.time += RESTORATION_TIME - timedelta(minutes=1)
    assert told(world) == []
    world.clock.time += timedelta(hours=2)
    (found,) = told(world)
    assert (found.where, found.command) == ("graveler://bare", ())
    assert "3 hours ago" in found.what
    assert "restore the same dump again" in found.remedy
    bare.restore_refs(uri)
    assert told(world) == []
