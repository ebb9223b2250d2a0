"""Tests of the changes of a commit whose inline index holds thousands of elements with short paths."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from string import ascii_letters

import pyarrow as pa
import pytest

from graveler_core.committed.index.indexes import Sizes
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import ChangeSummary
from graveler_core.segments.boundary import Cutting
from tests.unit.engine.world import World, entry

PATHS = ["".join(letters) for letters in product(sorted(ascii_letters), repeat=2)][:2_100]
OTHERS = [f"other/{number:05}" for number in range(16_400)]
"""So many that a commit of 2,048 changes does not change the metarange itself."""


@pytest.fixture
def repo() -> Repository:
    """A repository of 2,100 paths of two letters among others, with the sizes that every user has."""
    world = World()
    world.repository()
    repo = Graveler(replace(world.stores(), sizes=Sizes(), cutting=Cutting())).repository("repo")
    main = repo.branch("main")
    main.stage_many(pa.table({"key": PATHS + OTHERS, "data": [b"1"] * (len(PATHS) + len(OTHERS))}))
    main.commit("all")
    return repo


def remove(repo: Repository, count: int, at_once: int) -> None:
    """Remove the first paths, in commits of so many each."""
    main = repo.branch("main")
    for start in range(0, count, at_once):
        main.remove_many(PATHS[start : min(start + at_once, count)])
        main.commit(f"remove {start}")


def test_a_small_commit_over_thousands_of_removals(repo: Repository) -> None:
    remove(repo, 2_000, 400)
    dev = repo.create_branch("dev", source="main")
    repo.branch("main").stage("new", entry(1))
    commit = repo.branch("main").commit("add new")
    assert repo.diff_summary("main~1", "main") == ChangeSummary(added=1, changed=0, removed=0)
    assert [change.path for change in repo.diff("main~1", "main")] == ["new"]
    assert [found.id for found in repo.log("main", prefix="new")] == [commit.id]
    repo.merge("main", into="dev")
    assert dev.get("new").size == 1
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]


@pytest.mark.parametrize("count", [2_001, 2_048])
def test_one_commit_of_thousands_of_removals(repo: Repository, count: int) -> None:
    dev = repo.create_branch("dev", source="main")
    remove(repo, count, count)
    assert repo.diff_summary("main~1", "main") == ChangeSummary(added=0, changed=0, removed=count)
    assert [found.message for found in repo.log("main", prefix=PATHS[0])] == ["remove 0", "all"]
    repo.merge("main", into="dev")
    assert [found.path for found in dev.list()] == PATHS[count:] + OTHERS
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]
