"""Commits of an export that have merged parents, but no direct one: merges into a branch that had no commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.foreign.nessie_exports import (
    DAYS,
    EMPTY,
    HISTORY,
    ORDERS,
    Export,
    Made,
    Op,
    commit_id,
    table,
    write_archive,
)
from tests.unit.engine.world import World

ORIGIN = "graveler.migrated-from"
COMMITS = (
    Made("a", ops=(Op(("orders",), table(ORDERS, 1), 1, ORDERS),)),
    Made("b", "a", ops=(Op(("days",), table(DAYS, 1), 1, DAYS),)),
)
KEPT = Op(("orders",), table(ORDERS, 2), 1, ORDERS)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def graveler(world: World) -> Graveler:
    return world.graveler()


def merged(world: World, to: Path, parent: str, *, incomplete: bool = False) -> Repository:
    """Import a history in which `main` is a merge of a commit into nothing."""
    commits = (*COMMITS, Made("m", more=(parent,), ops=(KEPT,)))
    uri = write_archive(Export(commits, {"main": "m", "side": "b"}).files(2), to / "export.zip")
    graveler = world.graveler()
    graveler.migrate_nessie("tables", uri, world.namespace("tables"), incomplete=incomplete)
    if incomplete:
        graveler.complete_migration("tables")
    assert [*graveler.verify_nessie("tables", uri)] == []
    return graveler.repository("tables")


def history(repo: Repository, ref: str) -> list[tuple[str, str]]:
    """Return the first parents of a ref: ids in the export, and messages."""
    return [(commit.metadata.get(ORIGIN, commit.id), commit.message) for commit in repo.log(ref, first_parent=True)]


@pytest.mark.parametrize("incomplete", [False, True])
def test_a_merge_into_nothing_has_only_its_own_content(world: World, tmp_path: Path, incomplete: bool) -> None:
    repo = merged(world, tmp_path, "b", incomplete=incomplete)
    found = repo.commit("main")
    assert [repo.commit(parent).metadata[ORIGIN] for parent in found.parents] == [EMPTY.hex(), commit_id("b").hex()]
    assert {each.path: repo.at("main").read(each.path).decode() for each in repo.at("main").list()} == {
        "orders": KEPT.value
    }
    assert {each.path for each in repo.at("side").list()} == {"orders", "days"}


def test_the_merged_parent_may_be_missing(world: World, tmp_path: Path) -> None:
    repo = merged(world, tmp_path, "gone")
    found = repo.commit("main")
    assert [repo.commit(parent).metadata[ORIGIN] for parent in found.parents] == [EMPTY.hex()]
    assert found.metadata["nessie.missing-parents"] == commit_id("gone").hex()
    assert [each.path for each in repo.at("main").list()] == ["orders"]


def test_a_merge_into_a_branch_without_commits_is_exported_and_imported(
    world: World, graveler: Graveler, tmp_path: Path
) -> None:
    uri = write_archive(HISTORY.files(2), tmp_path / "export.zip")
    graveler.migrate_nessie("tables", uri, world.namespace("tables"))
    repo = graveler.repository("tables")
    repo.create_branch("work", "new")
    repo.branch("work").put("a", b"1")
    repo.branch("work").commit("Work")
    repo.merge("work", into="new", message="Bring the work")
    out = f"{world.namespace('out')}/x.zip"
    repo.export_nessie(out)
    graveler.migrate_nessie("again", out, world.namespace("again"))
    again = graveler.repository("again")
    assert [*graveler.verify_nessie("again", out)] == []
    assert len(again.commit("new").parents) == 2
    assert history(again, "new") == history(repo, "new")
    assert again.at("new").read("a") == b"1"


def test_commits_on_a_branch_without_commits_keep_their_parents(
    world: World, graveler: Graveler, tmp_path: Path
) -> None:
    """Also merges of such a branch. A second round changes nothing."""
    uri = write_archive(HISTORY.files(2), tmp_path / "export.zip")
    graveler.migrate_nessie("tables", uri, world.namespace("tables"))
    repo = graveler.repository("tables")
    repo.create_branch("empty", "new")
    repo.branch("new").put("a", b"1")
    repo.branch("new").commit("First")
    repo.merge("empty", into="main", message="Bring nothing", allow_unrelated=True, allow_empty=True)
    before = repo
    for name, incomplete in (("again", False), ("once-more", True)):
        out = f"{world.namespace(f'out-{name}')}/x.zip"
        before.export_nessie(out)
        graveler.migrate_nessie(name, out, world.namespace(name), incomplete=incomplete)
        if incomplete:
            graveler.complete_migration(name)
        again = graveler.repository(name)
        assert [*graveler.verify_nessie(name, out)] == []
        for ref in ("new", "empty", "main"):
            assert [found.message for found in again.log(ref)] == [found.message for found in repo.log(ref)]
            assert history(again, ref) == history(before, ref)
            assert len(again.commit(ref).parents) == len(repo.commit(ref).parents)
        before = again
