"""Tree ids cover every field of an entry; diffs, merges and commits compare identities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from graveler_core.errors import NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    world = World()
    world.repository()
    return world.graveler().repository("repo")


def tree_ids(repo: Repository, *refs: str) -> list[str]:
    return [repo.at(ref).tree_id() for ref in refs]


BY_IDENTITY_EQUAL: dict[str, Callable[[Entry], Entry]] = {
    "another modification time": lambda found: replace(found, mtime=entry(1, mtime=1).mtime),
    "another address": lambda found: replace(found, address="data/copy"),
}


@pytest.mark.parametrize("changed", BY_IDENTITY_EQUAL.values(), ids=BY_IDENTITY_EQUAL)
def test_equal_identities_have_no_difference_and_different_trees(
    repo: Repository, changed: Callable[[Entry], Entry]
) -> None:
    one, other = repo.create_branch("one", "main"), repo.create_branch("other", "main")
    one.stage("a", entry(1))
    one.commit("a")
    other.stage("a", changed(entry(1)))
    other.commit("a again")
    first, second = tree_ids(repo, "one", "other")
    assert first != second
    assert list(repo.diff("one", "other")) == []
    with pytest.raises(NoChanges):
        repo.merge("one", into="other")
    staged = repo.create_branch("staged", "one")
    staged.stage("a", changed(entry(1)))
    assert tree_ids(repo, "staged", "staged@") == [second, first]
    assert list(staged.uncommitted()) == []


def test_equal_entries_have_one_tree_id_whatever_history_led_to_them(repo: Repository) -> None:
    one, other = repo.create_branch("one", "main"), repo.create_branch("other", "main")
    for number in range(12):
        one.stage(f"k{number}", entry(number))
        one.commit(str(number))
    for number in reversed(range(12)):
        other.stage(f"k{number}", entry(number))
    other.stage("gone", entry(99))
    other.commit("all")
    other.remove("gone")
    other.commit("without")
    first, second = tree_ids(repo, "one@", "other@")
    assert first == second
