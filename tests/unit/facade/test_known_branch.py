"""Handles of a branch from cached records: what they cost, who may have them, and when they are outdated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graveler_core.errors import PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.known_branch import known_for_reading, known_for_writing
from graveler_core.model.permission import Action
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import World, entry
from tests.unit.guard.principals import AllBut, Says, everything, guarded

OPENERS = (known_for_reading, known_for_writing)


def warm(world: World, principal: AllBut | None = None) -> Graveler:
    """A handle of a process that has read the branch before."""
    world.repository().branch("main").stage("a", entry(1))
    found = guarded(world, AllBut())
    found.repository("repo").branch("main").get("a")
    return Graveler(replace(found._stores, principal=principal))


def test_a_branch_that_was_not_read_is_unknown() -> None:
    world = World()
    world.repository()
    assert [known(world.graveler(), "repo", "main") for known in OPENERS] == [None, None]
    assert [known(warm(World()), "repo", ref) for known in OPENERS for ref in ("main$", "main~1", "dev")] == [None] * 6


def test_a_known_branch_is_opened_without_a_read() -> None:
    world = World()
    found, counting = warm(world), Counting(world.kv)
    known = known_for_reading(Graveler(replace(found._stores, kv=counting)), "repo", "main")
    assert known is not None
    assert not counting.round_trips
    assert known.branch.get("a").size == 1
    assert known.is_current()
    assert counting.round_trips == 2  # the staged row, and the closing re-read


def test_the_same_permissions_are_asked_as_otherwise() -> None:
    for known, opens in (
        (known_for_reading, lambda repo: repo.at("main")),
        (known_for_writing, lambda repo: repo.branch("main")),
    ):
        usual, cached = AllBut(), AllBut()
        world = World()
        opens(warm(world, usual).repository("repo"))
        assert known(warm(World(), cached), "repo", "main") is not None
        assert cached.asked == usual.asked != []


@pytest.mark.parametrize("action", [Action.READ_REPOSITORY, Action.READ_COMMIT])
def test_a_user_without_the_permission_is_refused(action: Action) -> None:
    found = warm(World())
    refused = everything(Says(str(action), deny=True, branch="main"), Says(str(Action.READ_REPOSITORY), deny=True))
    with pytest.raises(PermissionDenied):
        known_for_reading(Graveler(replace(found._stores, principal=refused)), "repo", "main")


def test_a_repository_that_was_created_again_is_another_one() -> None:
    world = World()
    found = warm(world)
    known = known_for_reading(found, "repo", "main")
    world.graveler().delete_repository("repo")
    world.graveler().create_repository("repo", world.namespace("other"), ephemeral=True).branch("main").stage(
        "b", entry(2)
    )
    assert known is not None
    assert known.branch.get("b").size == 2  # the operation has read the new records
    assert not known.is_current()
