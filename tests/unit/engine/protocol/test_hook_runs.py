"""Runs of hooks after a change: what is left when the store fails, and when a delivery comes before the process."""

from __future__ import annotations

import pytest

from graveler_core.errors import Unavailable
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.protocol.test_hooks import Receiver, hooked, repository
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
