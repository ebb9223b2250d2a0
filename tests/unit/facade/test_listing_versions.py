"""Versions of listings: names of the committed content that a listing shows."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa
import pytest

from graveler_core.engine.reading import branch as read
from graveler_core.errors import NotFound, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.facade.listing import Listing
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import CommonPrefix, Entry
from tests.unit.engine.world import World, entry

PATHS = ("a/1", "a/2", "b/1", "b/c/1", "d")


@pytest.fixture
def world() -> World:
    found = World()
    found.repository()
    return found


@pytest.fixture
def repo(world: World) -> Repository:
    found = world.graveler().repository("repo")
    main = found.branch("main")
    for number, path in enumerate(PATHS):
        main.stage(path, entry(number))
    main.commit("paths")
    return found


@pytest.fixture
def main(repo: Repository) -> Branch:
    return repo.branch("main")


def stage_many(branch: Branch, entries: int) -> None:
    """Stage entries at `m/0000` and so on, as rows of the staging token."""
    table = pa.table({"key": [f"m/{number:04}" for number in range(entries)], "address": ["data/many"] * entries})
    branch.stage_many(table)


def paths(found: Listing[Entry | CommonPrefix]) -> list[str]:
    return [item.path for item in found]


def test_refs_with_the_same_commit_have_one_version(repo: Repository, main: Branch) -> None:
    commit = repo.at("main").commit_id
    repo.create_tag("v1", "main")
    repo.create_branch("dev", "main")
    refs = (main, repo.at("main"), repo.at("main@"), repo.at(commit), repo.at("v1"), repo.branch("dev"))
    (version,) = {ref.list().version() for ref in refs}
    assert version is not None
    assert {ref.list("a/", limit=1).version() for ref in refs} == {version}
    main.stage("e", entry(9))
    main.commit("e")
    assert main.list().version() not in {None, version}
    assert repo.at(commit).list().version() == version


@pytest.mark.parametrize("delimiter", ["", "/"])
@pytest.mark.parametrize("limit", [None, 0, 1, 3])
def test_items_are_those_of_a_listing_without_a_version(main: Branch, delimiter: str, limit: int | None) -> None:
    for prefix in ("", "a/", "b", "x"):
        for after in ("", "a/1", "b/", "z"):
            for _ in range(2):
                plain, named = (main.list(prefix, after, delimiter, limit) for _ in range(2))
                named.version()
                assert list(named) == list(plain)
                main.stage("a/3", entry(7))
            main.reset()


def test_uncommitted_changes_at_the_listed_paths_leave_no_version(main: Branch) -> None:
    version = main.list().version()
    main.stage("b/2", entry(7))
    assert main.list().version() is None
    assert main.list("b").version() is None
    assert main.list("b/", "b/2").version() == version
    assert main.list("a/").version() == version
    main.remove("b/2")
    assert main.list("b/").version() in {None, version}
    main.reset()
    assert main.list().version() == version


def test_a_removed_prefix_leaves_no_version(main: Branch) -> None:
    version = main.list().version()
    main.remove_prefix("b/")
    begun = main.list("b/")
    assert (begun.version(), paths(begun)) == (None, [])
    begun = main.list()
    assert (begun.version(), paths(begun)) == (None, ["a/1", "a/2", "d"])
    assert main.list("a/").version() == version
    main.reset("b/")
    begun = main.list("b/")
    assert (begun.version(), paths(begun)) == (None, ["b/1", "b/c/1"])


def test_a_compacted_tree_has_no_version(main: Branch) -> None:
    """A sweep may delete it as soon as a commit has replaced it."""
    before = main.list().version()
    main.stage("e", entry(7))
    main.compact()
    begun = main.list()
    assert (begun.version(), paths(begun)) == (None, [*PATHS, "e"])
    main.commit("e")
    begun = main.list()
    assert begun.version() not in {None, before}
    assert paths(begun) == [*PATHS, "e"]


def test_a_repository_that_is_deleted_while_its_listing_is_read(world: World, repo: Repository, main: Branch) -> None:
    stage_many(main, 1_500)
    main.commit("many")
    begun = [main.list("m/"), repo.at("main@").list("m/"), main.list("m/")]
    assert all(found.version() is not None for found in begun[:2])
    assert all(next(found).path == "m/0000" for found in begun)
    world.graveler().delete_repository("repo")
    for found in begun:
        with pytest.raises(NotFound, match="repo"):
            list(found)


def test_a_listing_with_a_version_does_not_change_while_it_is_read(main: Branch) -> None:
    stage_many(main, 2_500)
    main.commit("many")
    before = [f"m/{number:04}" for number in range(2_500)]
    plain, named = main.list("m/"), main.list("m/")
    assert named.version() is not None
    seen = [paths(islice(found, 10)) for found in (plain, named)]  # type: ignore[arg-type]
    main.remove_prefix("m/")
    main.commit("none")
    assert seen[1] + paths(named) == before
    assert seen[0] + paths(plain) == before[:1_000], "one page was read before the removal"


def test_uncommitted_items_after_the_first_page(main: Branch) -> None:
    stage_many(main, 1_500)
    named = main.list("m/")
    assert named.version() is None
    assert paths(named) == [f"m/{number:04}" for number in range(1_500)]


def test_a_listing_that_was_begun_has_no_version(main: Branch) -> None:
    found = main.list()
    assert next(found).path == "a/1"
    assert found.version() is None
    assert paths(found) == list(PATHS[1:])
    named = main.list()
    version = named.version()
    assert next(named).path == "a/1"
    assert named.version() == version
    assert main.uncommitted().version() is None


def test_a_deleted_branch(repo: Repository, main: Branch) -> None:
    repo.create_branch("dev", "main")
    dev = repo.branch("dev")
    repo.delete_branch("dev")
    with pytest.raises(NotFound, match="dev"):
        dev.list().version()


def test_another_repository_with_the_same_content_has_other_versions() -> None:
    world = World()
    versions = set()
    for name in ("one", "two"):
        world.repository(name)
        versions.add(world.graveler().repository(name).branch("main").list().version())
    assert len(versions) == 2


def test_what_changes_during_the_call_is_seen(main: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The closing re-read finds a commit that came while the layers were read."""
    real, calls = read.is_covered, list[int]()

    def covered(*arguments: object) -> bool:
        if not calls:
            calls.append(1)
            main.stage("e", entry(7))
            main.commit("e")
        return real(*arguments)  # type: ignore[arg-type]

    before = main.list().version()
    monkeypatch.setattr(read, "is_covered", covered)
    found = main.list()
    assert found.version() not in {None, before}
    assert paths(found) == [*PATHS, "e"]


def test_a_version_is_a_read_that_needs_the_permission() -> None:
    """The guard of a lazy listing is asked before the version is read."""

    def version() -> str:
        raise AssertionError("read")

    def refused(items: object) -> object:
        raise PermissionDenied("no")

    with pytest.raises(PermissionDenied):
        Listing(iter([1]), str, version=version).through(refused).version()  # type: ignore[arg-type]
