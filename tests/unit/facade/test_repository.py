"""A repository's handle: branches in two orders, the log, diffs and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import ChangeKind
from graveler_core.model.operations import Remove
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo() -> Repository:
    """Three commits on main, a branch from the second with one of its own."""
    made = World().repository()
    main = made.branch("main")
    for number in (1, 2):
        main.stage(f"p/{number}", entry(number))
        main.commit(f"main {number}")
    dev = made.create_branch("dev", "main")
    dev.stage("p/1", entry(5))
    dev.remove("p/2")
    dev.commit("dev 1")
    main.stage("q", entry(3))
    main.commit("main 3")
    return made


def test_branches_by_head(repo: Repository) -> None:
    repo.create_branch("twin", "dev")
    heads = {branch.id: branch.commit_id for branch in repo.branches()}
    wanted = sorted(heads, key=lambda name: (heads[name], name))
    assert [branch.id for branch in repo.branches(order_by="commit_id")] == wanted
    pages = list(repo.branches(order_by="commit_id").pages(2))
    assert [branch.id for page in pages for branch in page.items] == wanted
    token = pages[0].next
    assert token is not None
    assert [branch.id for branch in repo.branches(after=token, order_by="commit_id")] == wanted[2:]
    assert [branch.id for branch in repo.branches("t", order_by="commit_id")] == ["twin"]


def test_branches_by_name(repo: Repository) -> None:
    for name in ("a", "b.1", "B"):
        repo.create_branch(name, "main")
    assert [branch.id for branch in repo.branches()] == ["B", "a", "b.1", "dev", "main"]
    assert [branch.id for branch in repo.branches(prefix="b")] == ["b.1"]
    assert [branch.id for branch in repo.branches(after="a", limit=2)] == ["b.1", "dev"]


def test_diff(repo: Repository) -> None:
    found = {change.path: change.kind for change in repo.diff("main", "dev")}
    assert found == {"p/1": ChangeKind.CHANGED, "p/2": ChangeKind.REMOVED, "q": ChangeKind.REMOVED}
    found = {change.path: change.kind for change in repo.diff("main", "dev", since_merge_base=True)}
    assert found == {"p/1": ChangeKind.CHANGED, "p/2": ChangeKind.REMOVED}
    assert [change.path for change in repo.diff("main", "dev", prefix="p/", after="p/1")] == ["p/2"]
    assert [change.path for change in repo.diff("main", "dev", limit=1)] == ["p/1"]
    (removed,) = repo.diff("main", "dev", prefix="q")
    assert removed.before is not None
    assert (removed.before.size, removed.after) == (3, None)


def test_to_arrow(repo: Repository) -> None:
    repo.branch("main").stage("p/9", entry(9))
    assert repo.at("main").to_arrow("p/").read_all().column("size").to_pylist() == [1, 2, 9]
    assert repo.at("main@").to_arrow().read_all().column("key").to_pylist() == [b"p/1", b"p/2", b"q"]
    assert repo.at("main").to_arrow("nothing").read_all().num_rows == 0


NO_TEXT = "\ud800"


@pytest.mark.parametrize(
    "call",
    [
        lambda repo: repo.branches(NO_TEXT),
        lambda repo: repo.branches(after=NO_TEXT),
        lambda repo: repo.tags(NO_TEXT),
        lambda repo: list(repo.diff("main", "dev", prefix=NO_TEXT)),
        lambda repo: repo.at("main").list(prefix=NO_TEXT),
        lambda repo: repo.at("main").list(after=NO_TEXT),
        lambda repo: repo.at("main").list(delimiter=NO_TEXT),
        lambda repo: repo.at("main").get(NO_TEXT),
        lambda repo: repo.at("main").get(""),
        lambda repo: repo.at("main").to_arrow(NO_TEXT).read_all(),
        lambda repo: repo.branch("main").uncommitted(NO_TEXT),
        lambda repo: repo.branch("main").list(NO_TEXT),
        lambda repo: repo.branch("main").remove(NO_TEXT),
        lambda repo: repo.branch("main").remove(""),
        lambda repo: repo.branch("main").remove_many(["a", NO_TEXT]),
        lambda repo: repo.branch("main").remove_prefix(NO_TEXT),
        lambda repo: repo.branch("main").reset(NO_TEXT),
        lambda repo: repo.branch("main").stage(NO_TEXT, entry(1)),
        lambda repo: repo.branch("main").stage("a\0", entry(1)),
        lambda repo: repo.branch("main").stage("é" * 501, entry(1)),
        lambda repo: repo.branch("main").put("", b""),
        lambda repo: repo.branch("main").get("x" * 1001),
        lambda repo: repo.at("main").list(limit=-1),
        lambda repo: repo.branches(order_by="size"),
        lambda repo: repo.merge("dev", into="main", strategy="ours"),
        lambda repo: repo.at(5),
        lambda repo: repo.branch(None),
        lambda repo: repo.branch("main").commit("m", metadata={"a": 1}),
        lambda repo: repo.set_read_only("yes"),
        lambda repo: repo.set_thresholds("main"),
        lambda repo: repo.set_thresholds({"layers": 5}),
        lambda repo: repo.branch("main").remove_many("p/1"),
        lambda repo: repo.branch("main").remove_many(None),
        lambda repo: repo.create_tag("v1", "main", message=NO_TEXT),
        lambda repo: repo.create_tag("v1", "main", signature=b"signed"),
        lambda repo: repo.branches(limit="1"),
        lambda repo: repo.at("main").list(limit=1.5),
        lambda repo: next(repo.tags().pages(1.5)),
        lambda repo: repo.transplant((name for name in ["dev"]), onto="main"),
        lambda repo: repo.transplant(None, onto="main"),
        lambda repo: repo.cherry_pick("dev", onto="main", mainline="1"),
        lambda repo: repo.sweep(grace=7),
        lambda repo: repo.branch("main").commit("m", metadata=[("a", "1")]),
        lambda repo: repo.branch("main").put("a", "text"),
        lambda repo: repo.branch("main").put("a", StringIO("text")),
        lambda repo: repo.branch("main").put("a", None),
        lambda repo: repo.branch("main").stage("a", {"address": "x"}),
        lambda repo: repo.branch("main").stage_many({"key": ["a"]}),
        lambda repo: repo.branch("main").transact(None, message="m"),
        lambda repo: repo.branch("main").transact([Remove("p/1")], message="m", on=5),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(repo: Repository, call: Callable[[Repository], object]) -> None:
    before = repo.branch("main").record()
    with pytest.raises(InvalidInput):
        call(repo)
    assert repo.branch("main").record() == before
    assert list(repo.branch("main").uncommitted()) == []


@pytest.mark.parametrize("wrong", [5, None, NO_TEXT])
def test_bad_input_to_a_store_is_refused(wrong: Any) -> None:
    g = World().graveler()
    for call in (
        lambda: g.pressures(wrong),
        lambda: g.pressures(after=wrong),
        lambda: g.clean(undelete_within=wrong),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_no_number_is_too_large(repo: Repository) -> None:
    paths = [entry.path for entry in repo.at("main").list()]
    assert [entry.path for entry in repo.at("main").list(limit=10**30)] == paths
    assert [entry.path for entry in next(repo.at("main").list().pages(10**30)).items] == paths
    assert repo.sweep(grace=timedelta.max).blobs == 0


@pytest.mark.parametrize("path", ["nothing", "p", "p/", "p/3", "P/1"])
def test_unknown_paths(repo: Repository, path: str) -> None:
    for at in ("main", "main@", "main~1"):
        for call in (repo.at(at).get, repo.at(at).read):
            with pytest.raises(NotFound) as caught:
                call(path)
            assert (caught.value.kind, caught.value.details["path"]) == (Kind.PathNotFound, path)


def test_listings_of_a_branch_that_was_deleted_are_refused_even_if_no_path_can_be_listed(repo: Repository) -> None:
    gone = repo.create_branch("gone", "main")
    repo.delete_branch("gone")
    for listing in (gone.list, gone.uncommitted, gone.staged):
        for after in ("", "b"):
            with pytest.raises(NotFound) as caught:
                list(listing("a", after))
            assert caught.value.kind is Kind.BranchNotFound


def test_unknown_branches(repo: Repository) -> None:
    for call in (repo.branch, repo.delete_branch, lambda name: repo.merge("dev", into=name)):
        with pytest.raises(NotFound) as caught:
            call("nobody")
        assert caught.value.kind is Kind.BranchNotFound
