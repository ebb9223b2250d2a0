"""Operations that call hooks, and those that do not: the table of `docs/guides/hooks.md`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.facade.repository import Repository
from graveler_core.model.webhooks import HookEvent
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.protocol.test_hooks import Receiver, repository
from tests.unit.engine.world import World, entry

Act = Callable[[Repository], object]


@pytest.fixture
def world() -> World:
    """`main` with two commits and something staged, `dev` with one more commit, tag `v0`, and a deleted branch."""
    world = World()
    repo = world.repository()
    main = repo.branch("main")
    for path in ("a", "b"):
        main.stage(path, entry(1))
        main.commit(path)
    dev = repo.create_branch("dev", "main")
    dev.stage("c", entry(2))
    dev.commit("c")
    repo.create_tag("v0", "dev")
    repo.create_branch("gone", "dev")
    repo.delete_branch("gone")
    main.stage("d", entry(3))
    return world


def on_clean(repo: Repository) -> Repository:
    """The repository, with nothing staged on `main`."""
    repo.branch("main").reset()
    return repo


HOOKED: dict[str, tuple[str, Act]] = {
    "commit": ("commit", lambda repo: repo.branch("main").commit("m")),
    "cherry_pick": ("commit", lambda repo: on_clean(repo).cherry_pick("dev", "main")),
    "transplant": ("commit", lambda repo: on_clean(repo).transplant(["dev"], "main")),
    "revert": ("commit", lambda repo: repo.revert("dev", "dev")),
    "import": ("commit", lambda repo: repo.import_prefix(lake({"x": b"1"}), "main", "in")),
    "squash": ("merge", lambda repo: on_clean(repo).merge("dev", "main", squash=True)),
    "replay": ("merge", lambda repo: on_clean(repo).merge("dev", "main", replay=True)),
    "undelete": ("create-branch", lambda repo: repo.undelete_branch("gone")),
    "assign": ("create-tag", lambda repo: repo.assign_tag("v0", "main", expected=repo.tag("v0").commit_id)),
}
SILENT: dict[str, Act] = {
    "stage": lambda repo: repo.branch("main").stage("e", entry(4)),
    "reset": lambda repo: repo.branch("main").reset(),
    "hard reset": lambda repo: repo.branch("dev").hard_reset("dev~1"),
    "compact": lambda repo: repo.branch("main").compact(),
}


def told(world: World, act: Act) -> list[str]:
    receiver = Receiver()
    repo = repository(world, receiver)
    repo.set_hook("all", "http://receiver/", [*HookEvent])
    act(repo)
    return receiver.events()


@pytest.mark.filterwarnings("ignore:merge. squash:FutureWarning")
@pytest.mark.parametrize("name", HOOKED)
def test_an_operation_calls_the_hooks_before_and_after_it_once(world: World, name: str) -> None:
    event, act = HOOKED[name]
    assert told(world, act) == [f"pre-{event}", f"post-{event}"]


@pytest.mark.parametrize("name", SILENT)
def test_other_operations_call_no_hooks(world: World, name: str) -> None:
    assert told(world, SILENT[name]) == []
