"""Histories of compactions, of all branches of a repository."""

from __future__ import annotations

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import World, entry


class Open:
    """A repository in memory, and what is asked of its store."""

    def __init__(self) -> None:
        world = World()
        world.repository()
        self.kv = Counting(world.kv)
        self.repo = Graveler(world.stores(self.kv)).repository("repo")


@pytest.fixture
def opened() -> Open:
    return Open()


def compacted(repo: Repository, *names: str) -> None:
    for name in names:
        branch = repo.branch(name) if name == "main" else repo.create_branch(name, source="main")
        branch.stage("a", entry(1))
        branch.compact()


def test_they_are_those_of_branches_that_there_are(opened: Open) -> None:
    repo = opened.repo
    compacted(repo, "main", "dev", "gone", "anew")
    repo.delete_branch("gone")
    repo.delete_branch("anew")
    repo.create_branch("anew", source="main")
    repo.create_branch("idle", source="main")
    assert [found.branch for found in repo.compactions()] == ["dev", "main"]
    assert [found.branch for found in repo.compactions(prefix="d")] == ["dev"]
    assert [found.branch for found in repo.compactions(after="dev")] == ["main"]
    assert [page.next for page in repo.compactions().pages(1)] == ["dev", None]
    assert next(repo.compactions()).history == repo.branch("dev").compactions()


@pytest.mark.parametrize("damage", ["branch", "history"])
def test_a_damaged_record_hides_only_its_branch(opened: Open, damage: str) -> None:
    compacted(opened.repo, "main", "dev")
    record, dev = opened.repo._record, BranchId("dev")
    where = keys.branch(record, dev) if damage == "branch" else keys.compaction_history(record, dev)
    opened.kv.set(where.partition, where.key, b"junk")
    assert [found.branch for found in opened.repo.compactions()] == ["main"]


def test_branches_are_read_many_at_once_and_no_more_than_are_asked_for(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graveler_core.engine.compacting.history._AT_ONCE", 2)
    names = [f"branch-{number}" for number in range(6)]
    compacted(opened.repo, *names)
    opened.kv.reset()
    assert [found.branch for found in opened.repo.compactions(limit=3)] == names[:3]
    assert (opened.kv.counts["scan"], opened.kv.counts["get_many"]) == (1, 2)
