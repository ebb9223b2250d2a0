"""Commits that branches and tags leave: they are recorded before the reference has left them, whatever happens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from graveler_core.errors import OutcomeUnknown
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry

WAYS = ["hard reset", "delete branch", "assign tag", "delete tag"]


class OneByOne(Interposed):
    """A store that writes records before a swap, and not together with it."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        return Store.write_and_swap(self, items, swapped, predicate)


def prepared() -> World:
    """A branch and a tag at a commit that nothing else leads to."""
    world = World()
    repo = world.repository()
    repo.create_branch("dev", source="main")
    repo.branch("dev").stage("x", entry(1))
    head = repo.branch("dev").commit("left").id
    repo.create_tag("v1", head)
    return world


def leave(repo: Repository, way: str) -> None:
    match way:
        case "hard reset":
            repo.branch("dev").hard_reset("main")
        case "delete branch":
            repo.delete_branch("dev")
        case "assign tag":
            repo.assign_tag("v1", "main", expected=repo.tag("v1").commit_id)
        case "delete tag":
            repo.delete_tag("v1")


def names(world: World, way: str, head: str) -> bool:
    """Return `True` if the reference of a way still names a commit."""
    repo = world.graveler().repository("repo")
    found = [*repo.branches()] if way in ("hard reset", "delete branch") else [*repo.tags()]
    return any(reference.commit_id == head for reference in found)


def former(world: World) -> set[str]:
    record = access.read(world.kv, keys.repository(world.graveler().repository("repo").id))
    assert record is not None
    return {name for name, _ in access.scan(world.kv, keys.former_heads(record.value))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("store", [Interposed, OneByOne])
@pytest.mark.parametrize("end", ["killed", "answer lost", "request lost"])
def test_a_commit_is_recorded_before_it_is_left(way: str, store: type[Interposed], end: str) -> None:
    at, met = 0, True
    outcomes = set[bool]()
    while met:
        world = prepared()
        head = world.graveler().repository("repo").tag("v1").commit_id
        kv = store(world.kv)
        if end == "killed":
            kv.fail[at] = Crash()
        else:
            kv.lose[at] = end == "answer lost"
        with suppress(Crash, OutcomeUnknown):
            leave(world.graveler(kv).repository("repo"), way)
        met, at = at < len(kv.verbs), at + 1
        left = not names(world, way, head)
        outcomes.add(left)
        assert not left or former(world) == {head}, at
        assert former(world) <= {head}
    assert at > 3
    assert outcomes == ({True, False} if end == "killed" else {True})


def test_moves_forward_leave_nothing() -> None:
    world = prepared()
    repo = world.graveler().repository("repo")
    repo.merge("dev", into="main")
    repo.branch("dev").hard_reset("dev")
    assert former(world) == set()


def test_a_damaged_record_is_reported() -> None:
    world = prepared()
    repo = world.graveler().repository("repo")
    repo.delete_tag("v1")
    record = access.read(world.kv, keys.repository(repo.id))
    assert record is not None
    where = keys.former_heads(record.value).at(next(iter(former(world))))
    assert not [finding for finding in repo.fsck() if finding.damage]
    world.kv.set(where.partition, where.key, b"\x01{}")
    assert [finding.id for finding in repo.fsck() if finding.damage] == [where.key.decode().rpartition("/")[2]]
