"""A branch of ten entries to work on, and looks at what became of it."""

from __future__ import annotations

from dataclasses import replace

from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from tests.unit.engine.world import World, entry


def ten_keys() -> World:
    """A repository whose branch has k0 to k9, of sizes 0 to 9."""
    made = World()
    made.repository()
    made.branch().transact([Put(f"k{n}", entry(n)) for n in range(10)], message="begin")
    return made


def shown(branch: Branch) -> dict[str, int]:
    """What a branch shows: sizes by path."""
    return {held.path: held.size for held in branch.list() if isinstance(held, Entry)}


def at_head(world: World) -> dict[str, int]:
    """What the head holds."""
    listed = world.graveler().repository("repo").at("main@").list()
    return {held.path: held.size for held in listed if isinstance(held, Entry)}


def messages(world: World) -> list[str]:
    """Of the branch's commits, newest first, without the repository's own."""
    return [commit.message for commit in world.graveler().repository("repo").log("main")][:-1]


def update(branch: Branch, path: str, number: int) -> Put:
    """The operation that updates what a path holds."""
    held = branch.get(path)
    changed = entry(number)
    return Put(path, replace(changed, content_id=held.content_id), expected=held)
