"""A commit whose layout is missing, which only an interrupted import or damage leaves: it is visible to nobody, or
refused wherever it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Thing, Trouble
from graveler_core.kv.store import Store
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.plain_store import PlainStore
from tests.foreign.nessie_exports import HISTORY, write_archive
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World, entry

USES: dict[str, Callable[[Repository], object]] = {
    "show": lambda r: r.commit("main"),
    "log": lambda r: next(r.log("main")),
    "get": lambda r: r.at("main@").get("0"),
    "list": lambda r: list(r.at("main@").list()),
    "list the branch": lambda r: list(r.branch("main").list()),
    "scan": lambda r: r.at("main@").scan().partitions(),
    "tree": lambda r: r.at("main@").tree_id(),
    "difference": lambda r: r.diff_summary("main~1", "main"),
    "commit on it": lambda r: r.branch("main").commit("next", allow_empty=True),
    "compaction": lambda r: (r.branch("main").stage("x", entry(9)), r.branch("main").compact()),
    "branch": lambda r: r.create_branch("new", "main"),
    "tag": lambda r: r.create_tag("new", "main"),
    "merge": lambda r: r.merge("main", into="dev"),
    "merge into it": lambda r: r.merge("dev", into="main"),
    "replay": lambda r: r.cherry_pick("main", onto="dev"),
    "hard reset": lambda r: r.branch("dev").hard_reset("main"),
    "dump": lambda r: r.dump_refs("memory://incomplete-commits/dump"),
    "export": lambda r: r.export_nessie("memory://incomplete-commits/export.zip"),
}


def incomplete(world: World, name: str) -> set[str]:
    """Headers without a layout."""
    held = access.read(world.kv, keys.repository(RepositoryId(name)))
    if held is None:
        return set()
    headers, layouts = keys.commits(held.value), keys.commit_layouts(held.value)
    return {id for id, _ in access.scan(world.kv, headers)} - {id for id, _ in access.scan(world.kv, layouts)}


@pytest.fixture(scope="module")
def damaged() -> World:
    """A head without a layout, and a branch beside it."""
    world = World()
    repo = world.repository()
    main, dev = repo.branch("main"), repo.create_branch("dev", "main")
    for branch, path in ((main, "0"), (dev, "d"), (main, "1")):
        branch.stage(path, entry(1))
        branch.commit(path)
    at = keys.commit_layout(repo._active(), CommitId(repo.commit("main").id))
    world.kv.delete(at.partition, at.key)
    return world


@pytest.mark.parametrize("use", USES)
def test_a_commit_without_layout_is_read_by_nothing(damaged: World, use: str) -> None:
    """The error names the commit, and what helps."""
    world = damaged.fork()
    (id,) = incomplete(world, "repo")
    with pytest.raises(CorruptData) as caught:
        USES[use](world.graveler().repository("repo"))
    assert caught.value.kind is Kind.CorruptCommit
    assert id in caught.value.message
    assert incomplete(world, "repo") == {id}


def test_the_error_names_the_remedy(damaged: World) -> None:
    with pytest.raises(CorruptData, match="is incomplete: restore the repository from a dump or a copy of the store"):
        damaged.fork().graveler().repository("repo").commit("main")


def test_checks_know_commits_without_layout(damaged: World) -> None:
    (id,) = incomplete(damaged, "repo")
    g = damaged.graveler()
    found = [(each.thing, each.trouble, each.id) for each in g.repository("repo").fsck() if each.damage]
    assert found == [(Thing.LAYOUT, Trouble.MISSING, id)]
    assert ("head-damaged", "graveler://repo/main") in [(each.ailment, each.where) for each in g.doctor().found]


def test_an_interrupted_import_is_completed_by_the_next(tmp_path: Path) -> None:
    """A store that writes row by row dies at each row. Ids and trees are those of an import at once."""

    def brought(world: World, kv: Store) -> Graveler:
        g = world.graveler(kv)
        g.migrate_nessie("tables", write_archive(HISTORY.files(2), tmp_path / "export.zip"), world.namespace("tables"))
        return g

    def shown(g: Graveler) -> dict[str, str]:
        repo = g.repository("tables")
        return {commit.id: repo.at(commit.id).tree_id() for commit in repo.commits()}

    whole = World()
    counted = Interposed(whole.kv)
    expected = shown(brought(whole, PlainStore(counted)))
    left = set[str]()
    for at in (number for number, verb in enumerate(counted.verbs) if verb in WRITES):
        world = World()
        dying = Interposed(world.kv)
        dying.fail[at] = Crash()
        try:
            brought(world, PlainStore(dying))
        except Crash:
            left |= incomplete(world, "tables")
            if incomplete(world, "tables"):
                assert [*world.graveler().list_repositories()] == []
                with pytest.raises(NotFound):
                    world.graveler().repository("tables")
        assert shown(brought(world, world.kv)) == expected
        assert incomplete(world, "tables") == set()
    assert left == {*expected}, "each commit was incomplete once"
