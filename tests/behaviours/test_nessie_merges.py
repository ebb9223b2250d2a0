"""Nessie's behaviours of merges (82), as they hold here.

Left out: contents that are expected at the destination (a merge is decided on the head it is swapped from). Otherwise:
what makes no commit is an error that names the head; instead of a dry run the conflicts are listed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from graveler_core.errors import Conflict, NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    """`main` and `dev`, from one commit of `a` and `b`."""
    made = World().repository()
    for path in "ab":
        made.branch("main").stage(path, entry(0))
    made.branch("main").commit("base")
    made.create_branch("dev", "main")
    return made


def change(repo: Repository, branch: str, path: str, number: int) -> str:
    """A commit that changes one path; gives its id."""
    repo.branch(branch).stage(path, entry(number))
    return repo.branch(branch).commit(f"{path} = {number}").id


def sizes(repo: Repository, ref: str) -> dict[str, int]:
    return {item.path: getattr(item, "size", -1) for item in repo.at(ref).list()}


def test_82_one_commit_with_the_source_as_second_parent(repo: Repository) -> None:
    heads = change(repo, "main", "m", 1), change(repo, "dev", "d", 1)
    change(repo, "dev", "d", 2)
    made = repo.merge("dev", into="main")
    assert made.parents == (heads[0], repo.commit("dev").id)
    assert [commit.id for commit in repo.log("main", first_parent=True, limit=2)] == [made.id, heads[0]]


def test_82_a_second_merge_begins_where_the_first_one_ended(repo: Repository) -> None:
    """Else the path that main changed again would be a conflict."""
    first = change(repo, "dev", "a", 1)
    repo.merge("dev", into="main")
    change(repo, "main", "a", 2)
    change(repo, "dev", "b", 1)
    assert repo.merge_base("dev", "main").id == first
    repo.merge("dev", into="main")
    assert sizes(repo, "main") == {"a": 2, "b": 1}


def test_82_a_merge_back_begins_at_the_merge(repo: Repository) -> None:
    change(repo, "dev", "a", 1)
    change(repo, "main", "b", 1)
    merged = repo.merge("dev", into="main")
    change(repo, "dev", "d", 1)
    repo.merge("main", into="dev")
    assert repo.merge_base("main", "dev").id == merged.id
    change(repo, "dev", "b", 2)
    repo.merge("dev", into="main")
    assert sizes(repo, "main") == sizes(repo, "dev") == {"a": 1, "b": 2, "d": 1}


def test_82_a_branch_of_a_branch_brings_what_its_parent_was_merged_without(repo: Repository) -> None:
    change(repo, "dev", "a", 1)
    repo.create_branch("feature", "dev")
    change(repo, "feature", "f", 1)
    repo.merge("dev", into="main")
    change(repo, "main", "a", 2)
    repo.merge("feature", into="main")
    assert sizes(repo, "main") == {"a": 2, "b": 0, "f": 1}


def test_82_a_source_without_changes_makes_no_commit(repo: Repository) -> None:
    head = repo.commit("main")
    for source in ("dev", "main"):
        with pytest.raises(NoChanges) as nothing:
            repo.merge(source, into="main")
        assert nothing.value.details["commit"] == head.id
    assert repo.commit("main") == head


def test_82_a_source_all_of_whose_changes_are_dropped_makes_no_commit(repo: Repository) -> None:
    change(repo, "dev", "a", 1)
    head = repo.commit("main")
    with pytest.raises(NoChanges):
        repo.merge("dev", into="main", resolve={"a": "destination"})
    assert repo.commit("main") == head


def test_82_what_is_dropped_forced_and_left_to_the_rule(repo: Repository) -> None:
    for number, branch in enumerate(("main", "dev"), 1):
        for path in ("a", "b", branch):
            change(repo, branch, path, number)
    change(repo, "dev", "dropped", 2)
    with pytest.raises(Conflict):
        repo.merge("dev", into="main", resolve={"b": "source"})
    repo.merge("dev", into="main", resolve={"a": "destination", "b": "source", "dropped": "destination"})
    assert sizes(repo, "main") == {"a": 1, "b": 2, "dev": 2, "main": 1}


def test_82_looking_for_conflicts_writes_nothing(repo: Repository) -> None:
    change(repo, "main", "a", 1)
    change(repo, "dev", "a", 2)
    kv = Counting(repo._stores.kv)
    mine = Repository(replace(repo._stores, kv=kv), repo._record)
    assert [conflict.path for conflict in mine.conflicts("dev", "main")] == ["a"]
    assert set(kv.counts) <= {"get", "get_many"}
