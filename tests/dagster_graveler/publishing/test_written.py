"""Metadata of written tables: the digest follows the content, and only the content."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dagster_graveler.publishing.written import (
    CONTENT,
    REPLACED,
    content_digest,
    partition_pattern,
    partition_prefixes,
    written,
)
from graveler_core import connect
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository


@pytest.fixture
def repository() -> Iterator[Repository]:
    with connect("memory://") as graveler:
        yield graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)


@pytest.fixture
def branch(repository: Repository) -> Branch:
    branch = repository.create_branch("dev", source="main")
    branch.put("t/a", b"1")
    branch.put("t/b", b"2")
    return branch


def test_a_commit_does_not_change_the_digest(repository: Repository, branch: Branch) -> None:
    staged = content_digest(repository.at("dev"), "t")
    made = branch.commit("write")
    assert content_digest(repository.at(made.id), "t") == staged
    branch.put("t/a", b"1")  # equal by identity
    assert content_digest(repository.at("dev"), "t") == staged


@pytest.mark.parametrize(
    "change",
    [
        lambda branch: branch.put("t/a", b"other"),
        lambda branch: branch.remove("t/b"),
        lambda branch: branch.put("t/c", b"3"),
        lambda branch: [branch.remove("t/b"), branch.put("t/bb", b"2")],
        lambda branch: [branch.put("t/a", b"2"), branch.put("t/b", b"1")],
    ],
    ids=["other content", "removed", "added", "renamed", "swapped"],
)
def test_a_change_of_the_table_changes_the_digest(
    repository: Repository, branch: Branch, change: Callable[[Branch], None]
) -> None:
    before = content_digest(repository.at("dev"), "t")
    change(branch)
    assert content_digest(repository.at("dev"), "t") != before


def test_other_tables_do_not_count(repository: Repository, branch: Branch) -> None:
    before = content_digest(repository.at("dev"), "t")
    branch.put("table/a", b"1")
    branch.put("t2/a", b"1")
    assert content_digest(repository.at("dev"), "t") == before


def test_keys_are_not_joined_to_others(repository: Repository) -> None:
    for name, paths in {"one": ("t/a", "t/bt/c"), "two": ("t/at/b", "t/c")}.items():
        branch = repository.create_branch(name, source="main")
        for path in paths:
            branch.put(path, b"1")
    assert content_digest(repository.at("one"), "t") != content_digest(repository.at("two"), "t")


def test_the_metadata_names_the_branch_the_state_and_the_partition_prefixes(
    repository: Repository, branch: Branch
) -> None:
    found = written(repository.at("dev"), "t", ["t/2013-01/"])
    assert found["graveler/branch"] == "dev"
    assert found["graveler/state"] == "unpublished"
    assert found[CONTENT] == content_digest(repository.at("dev"), "t")
    assert found[REPLACED].value == ["t/2013-01/"]
    assert written(repository.at("dev"), "t")[REPLACED].value == []


def test_a_pattern_stands_for_the_directory_of_each_partition(repository: Repository, branch: Branch) -> None:
    one = written(repository.at("dev"), "t", partition_pattern("t", ["month"]))[REPLACED].value
    assert [partition_prefixes(one, month) for month in ("2013-01", "a/ü|")] == [
        ["t/month=2013-01/"],
        ["t/month=a%2F%C3%BC%7C/"],
    ]
    two = written(repository.at("dev"), "t", partition_pattern("t", ["day", "letter"]))[REPLACED].value
    assert partition_prefixes(two, "2013-01-01|a") == ["t/day=2013-01-01/letter=a/"]
    assert partition_prefixes(["t/2013-01/"], "2013-02") == ["t/2013-01/"]  # by an earlier version
    assert partition_prefixes([], "2013-02") == partition_prefixes(None, None) == []
