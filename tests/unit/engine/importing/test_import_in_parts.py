"""Imports of which the tree is built in parts on a cluster: the same commits as here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.testing.invariants import check_history
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake, shown
from tests.unit.engine.in_parts import Scattered
from tests.unit.engine.world import World, entry

HELD = {f"d/{n:03}": n for n in range(0, 200, 2)} | {f"e/{n:03}": n for n in range(150)}
BROUGHT = {f"{n:03}": b"." * (n % 7) for n in range(0, 200, 3)}


def ends(mode: str, *, few: bool, cluster: Scattered | None) -> tuple[Repository, World]:
    world = World()
    world.repository()
    world.branch().stage_many(table(HELD))
    world.branch().commit("base")
    world.branch().stage_many(table({"f/1": 1, "f/2": 2}))
    world.branch().compact()
    world.branch().stage("g", entry(3))
    if cluster is not None:
        cluster.open = world.stores
    g = Graveler(replace(world.stores(), cluster=cluster))
    objects = dict(list(BROUGHT.items())[:9]) if few else BROUGHT
    g.repository("repo").import_prefix(lake(objects, f"memory://{world.name}-lake/raw"), "main", "d", mode=mode)
    return world.graveler().repository("repo"), world


@pytest.mark.parametrize(
    ("mode", "few"),
    [
        ("add", False),
        ("replace", True),
        *(pytest.param(mode, few, marks=pytest.mark.ci) for mode, few in (("add", True), ("replace", False))),
    ],
)
@pytest.mark.ci
def test_the_same_as_here(mode: str, few: bool) -> None:
    cluster = Scattered(World().stores, seed=few + 2 * (mode == "add"))
    here, world = ends(mode, few=few, cluster=None)
    there, other = ends(mode, few=few, cluster=cluster)
    assert len(cluster.done) == 2, "on the head, and on the compacted tree"
    assert shown(world) == shown(other)
    assert shown(world, "main") == shown(other, "main")
    check_history(other.stores(), there._active())
    left, right = (list(repo.diff("main~1", "main")) for repo in (here, there))
    assert [(change.path, change.kind) for change in left] == [(change.path, change.kind) for change in right]
