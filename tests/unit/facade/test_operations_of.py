"""Seed 002: a difference becomes the operations of a transaction, and the transaction gives the same tree."""

from __future__ import annotations

import uuid
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.errors import NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put, Remove, Unchanged, operations_of
from tests.unit.engine.world import World, entry

PATHS = st.sampled_from([f"{letter}/{number}" for letter in "abc" for number in range(4)])
CONTENTS = st.builds(
    lambda number, payload, id: replace(entry(number), payload=payload, content_id=id),
    st.integers(0, 3),
    st.sampled_from([0, 0, 7]),
    st.sampled_from([None, None, *map(uuid.UUID, (f"{n:032x}" for n in range(1, 4)))]),
)
TREES = st.dictionaries(PATHS, CONTENTS, max_size=8)


def commit(repo: Repository, name: str, tree: dict[str, Entry]) -> None:
    branch = repo.create_branch(name, "main")
    for path, content in tree.items():
        branch.stage(path, content)
    branch.commit(name, allow_empty=True)


@settings(max_examples=30, deadline=None)
@given(TREES, TREES)
def test_the_operations_of_a_diff_give_the_same_tree(left: dict[str, Entry], right: dict[str, Entry]) -> None:
    repo = World().repository()
    commit(repo, "left", left)
    commit(repo, "right", right)
    operations = list(operations_of(repo.diff("left", "right")))
    assert not [operation for operation in operations if isinstance(operation, Unchanged)]
    try:
        repo.branch("left").transact(operations, message="follow")
    except NoChanges:
        assert operations == []
    assert list(repo.diff("left", "right")) == []
    assert repo.at("left").tree_id() == repo.at("right").tree_id()


def test_the_kinds_of_operations() -> None:
    repo = World().repository()
    commit(repo, "left", {"gone": entry(1), "changed": entry(1), "other": entry(1)})
    commit(repo, "right", {"new": entry(1), "changed": entry(2), "other": replace(entry(1), payload=7)})
    found = list(operations_of(repo.diff("left", "right")))
    before, after = repo.at("left"), repo.at("right")
    assert found == [
        Put("changed", after.get("changed"), before.get("changed"), exact=True),
        Remove("gone", before.get("gone")),
        Put("new", after.get("new"), exact=True),
        Remove("other", before.get("other")),
        Put("other", after.get("other"), exact=True),
    ]


def test_uncommitted_changes_become_operations_too() -> None:
    repo = World().repository()
    commit(repo, "left", {"a": entry(1)})
    commit(repo, "right", {"a": entry(1)})
    repo.branch("left").stage("a", entry(2))
    repo.branch("left").stage("b", entry(3))
    repo.branch("right").transact(list(operations_of(repo.branch("left").uncommitted())), message="the same")
    repo.branch("left").commit("staged")
    assert list(repo.diff("left", "right")) == []
