"""Nessie's behaviours of commits without an index (52, 59): an import writes them, and a completion follows.

52. A commit flagged "incomplete index" (imported) cannot be read as complete nor used as a parent for updates.
59. "Complete indexes in chain" walks an imported chain and gives each commit a full index.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NotFound, NotUnique
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.findings import Thing, Trouble
from graveler_core.gc.named_addresses import named_addresses
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryState
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.objects import incomplete_commits
from graveler_core.objects.incomplete_commits import commits_left, scan_incomplete
from graveler_core.refs import repositories
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.testing.plain_store import PlainStore
from graveler_core.transfer import migrated
from tests.foreign.nessie_exports import DAYS, HISTORY, ORDERS, Export, Made, Op, table, write_archive
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World
from tests.unit.facade.verbs import BRANCH, REPOSITORY

REFUSES = {
    **{f"repository: {name}": verb for name, verb in REPOSITORY.items()},
    **{f"branch: {name}": verb for name, verb in BRANCH.items()},
}
KNOWN = {
    f"repository: {name}"
    for name in ("id", "uid", "storage_namespace", "default_branch", "creation_date", "state", "fsck")
} | {"branch: id"}
"""What a handle knows without a read, and the check."""


def _orders(number: int, value: str = "") -> Op:
    return Op(("db", f"orders-{number:02}"), value or table(ORDERS, number), 1, ORDERS)


LINES = Export(
    (
        Made("root", ops=tuple(map(_orders, range(3)))),
        *(
            Made(f"{line}{n}", f"{line}0" if n else "root", ops=(_orders(n, table(DAYS, n)),), message=f"{line}{n}")
            for line in "abc"
            for n in range(2)
        ),
        Made("large", "b1", ops=tuple(_orders(n, f'"{n}{"x" * 30_000}"') for n in range(4))),
        Made("merge", "a1", ("large", "c1"), ops=(_orders(9), Op(("db", "orders-02")))),
        Made("next", "merge", ops=(_orders(8),)),
    ),
    {"main": "next", "a": "a1", "none": ""},
    {"v1": "root"},
)
"""Three lines of history with a merge, and changes that do not fit into one record."""
COMMITS = 11


@pytest.fixture(scope="module", autouse=True)
def _small_batches() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrated, "BATCH_COMMITS", 2)
        yield


@pytest.fixture(scope="module")
def uris(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("exports")
    exports = {"lines": LINES, "history": HISTORY}
    return {name: write_archive(export.files(2), place / f"{name}.zip") for name, export in exports.items()}


def imported(world: World, uri: str, kv: Store | None = None, *, incomplete: bool, name: str = "repo") -> Any:
    place = world.namespace(name)
    return world.graveler(kv).migrate_nessie(name, uri, place, incomplete=incomplete)


def shown(g: Graveler) -> dict[str, object]:
    """All that the completed repository shows, but for what no id covers."""
    repo = g.repository("repo")
    return {
        **{commit.id: repo.at(commit.id).tree_id() for commit in repo.commits()},
        **{f"branch {branch.id}": branch.commit_id for branch in repo.branches()},
        **{f"tag {tag.id}": tag.commit_id for tag in repo.tags()},
        "ids": {item.origin: item.commit_id for item in g.migrated_ids("repo")},
        "metadata": repo.metadata(),
    }


@pytest.fixture(scope="module")
def at_once(uris: dict[str, str]) -> dict[str, object]:
    """What an import of `LINES` at once shows."""
    world = World()
    imported(world, uris["lines"], incomplete=False)
    return shown(world.graveler())


@pytest.fixture(scope="module")
def half(uris: dict[str, str]) -> World:
    """`LINES`, without indexes."""
    world = World()
    done = imported(world, uris["lines"], incomplete=True)
    assert (done.commits, done.earlier_commits, done.incomplete) == (COMMITS, 0, True)
    return world


def records(world: World) -> dict[str, object]:
    """The commits of an incomplete repository, and the commits that its references name."""
    held = repositories.find(world.kv, RepositoryId("repo"))
    assert held is not None
    assert held.value.state is RepositoryState.INCOMPLETE
    return {
        "commits": [*scan_incomplete(world.kv, held.value)],
        "branches": {each.id: each.commit_id for each in list_branches(world.kv, held.value)},
        "tags": {each.id: each.commit_id for each in list_tags(world.kv, held.value)},
    }


def left_over(world: World) -> list[bytes]:
    """Keys of records without index."""
    assert isinstance(world.kv, MemoryStore)
    return [
        key
        for partition in world.kv._memory.partitions.values()
        for key in partition.values
        if key.startswith(b"incomplete")
    ]


@pytest.mark.parametrize("name", sorted(REFUSES.keys() - KNOWN))
def test_52_a_commit_without_index_cannot_be_read_nor_used_as_a_parent(half: World, name: str) -> None:
    world = half.fork()
    repo = world.graveler().repository("repo")
    handle = repo if name.startswith("repository") else Branch(repo._stores, repo._record, BranchId("main"))
    before = {partition: dict(rows.values) for partition, rows in world.kv._memory.partitions.items()}  # type: ignore[attr-defined]
    with pytest.raises(Conflict, match="complete it with `graveler migrate complete graveler://repo`") as caught:
        REFUSES[name].call(handle)
    assert caught.value.kind is Kind.RepositoryIncomplete
    assert {at: dict(rows.values) for at, rows in world.kv._memory.partitions.items()} == before  # type: ignore[attr-defined]


def test_52_an_incomplete_repository_is_flagged(half: World, uris: dict[str, str]) -> None:
    world = half.fork()
    g = world.graveler()
    assert [(repo.id, repo.state) for repo in g.list_repositories()] == [("repo", RepositoryState.INCOMPLETE)]
    (found,) = g.repository("repo").fsck()
    assert (found.thing, found.trouble, found.damage) == (Thing.REPOSITORY, Trouble.INCOMPLETE, True)
    assert found.why.startswith(f"{COMMITS} commits have no index: complete it with `graveler migrate complete")
    (told,) = g.doctor().found
    assert (told.ailment, told.command) == (
        "repository-incomplete",
        ("graveler", "migrate", "complete", "graveler://repo"),
    )
    assert told.what == f"{COMMITS} of its commits have no index yet"
    for refused in (
        lambda: imported(world, uris["lines"], incomplete=False),
        lambda: [*g.verify_nessie("repo", uris["lines"])],
        lambda: [*g.migrated_ids("repo")],
    ):
        with pytest.raises(Conflict, match="is incomplete"):
            refused()
    with pytest.raises(NotUnique):
        g.create_repository("repo", world.namespace("other"))
    with pytest.raises(InvalidInput, match="workers"):
        g.complete_migration("repo", workers=0)
    assert imported(world, uris["lines"], incomplete=True).earlier_commits == COMMITS
    assert g.clean(dry_run=True).deletions == 0


def test_52_an_abandoned_import_is_deleted_as_usual(half: World) -> None:
    world = half.fork()
    g = world.graveler()
    g.delete_repository("repo")
    assert [*g.list_repositories()] == []
    with pytest.raises(NotFound):
        g.complete_migration("repo")
    with pytest.raises(NotFound):
        g.undelete_repository("repo")
    world.clock.sleep(40 * 86_400)
    g.clean()
    assert left_over(world) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_59_complete_indexes_in_chain(
    half: World, uris: dict[str, str], at_once: dict[str, object], workers: int
) -> None:
    """Each commit gets the id and the tree of an import at once. The export is not read."""
    world, written = half.fork(), list[int]()
    g = world.graveler()
    done = g.complete_migration("repo", workers=workers, progress=written.append)
    assert (done.commits, done.earlier_commits, sum(written)) == (COMMITS, 0, COMMITS)
    assert shown(g) == at_once
    assert left_over(world) == []
    assert [each for each in g.repository("repo").fsck(deep=True) if each.damage] == []
    assert [*g.verify_nessie("repo", uris["lines"])] == []
    assert "repository-incomplete" not in [told.ailment for told in g.doctor().found]
    again = g.complete_migration("repo")
    assert (again.commits, again.earlier_commits) == (0, COMMITS)
    g.repository("repo").branch("main").put("own", b"own")
    g.repository("repo").branch("main").commit("Own work")


def test_small_parts_and_pages_give_the_same(
    uris: dict[str, str], at_once: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incomplete_commits, "PART_BYTES", 1_000)
    monkeypatch.setattr(incomplete_commits, "PAGE", 1)
    world = World()
    imported(world, uris["lines"], incomplete=True)
    assert len(left_over(world)) > COMMITS + 100
    world.graveler().complete_migration("repo")
    assert shown(world.graveler()) == at_once
    assert left_over(world) == []


def test_59_large_contents_and_headers_come_over(uris: dict[str, str]) -> None:
    world, other = World(), World()
    imported(world, uris["history"], incomplete=True)
    world.graveler().complete_migration("repo")
    imported(other, uris["history"], incomplete=False)
    assert shown(world.graveler()) == shown(other.graveler())
    assert [*world.graveler().verify_nessie("repo", uris["history"])] == []


@pytest.mark.ci
def test_59_a_run_that_dies_at_any_write_is_continued(uris: dict[str, str], at_once: dict[str, object]) -> None:
    """Both phases, on a store that writes row by row."""
    whole = World()
    first, second = Interposed(whole.kv), Interposed(whole.kv)
    imported(whole, uris["lines"], PlainStore(first), incomplete=True)
    begun = whole.fork()
    whole.graveler(PlainStore(second)).complete_migration("repo", workers=1)
    for at in (number for number, verb in enumerate(first.verbs) if verb in WRITES):
        world = World()
        dying = Interposed(world.kv)
        dying.fail[at] = Crash()
        with pytest.raises(Crash):
            imported(world, uris["lines"], PlainStore(dying), incomplete=True)
        imported(world, uris["lines"], incomplete=True)
        assert records(world) == records(begun)
    seen = set[int]()
    for at in (number for number, verb in enumerate(second.verbs) if verb in WRITES):
        world = begun.fork()
        dying = Interposed(world.kv)
        dying.fail[at] = Crash()
        with pytest.raises(Crash):
            world.graveler(PlainStore(dying)).complete_migration("repo", workers=1)
        held = repositories.find(world.kv, RepositoryId("repo"))
        assert held is not None
        seen.add(commits_left(world.kv, held.value))
        world.graveler().complete_migration("repo", workers=1)
        assert shown(world.graveler()) == at_once
        assert left_over(world) == []
    assert {0, COMMITS} <= seen
    assert len(seen) > 3


@pytest.mark.ci
def test_59_two_processes_complete_one_repository(half: World, at_once: dict[str, object]) -> None:
    """At each call of one, the other does all of its work."""
    counted = Interposed(half.fork().kv)
    half.graveler(counted).complete_migration("repo", workers=1)
    for at in range(len(counted.verbs)):
        world = half.fork()
        other = world.graveler()
        slow = Interposed(world.kv)
        slow.before[at] = lambda other=other: other.complete_migration("repo", workers=1)  # type: ignore[misc]
        world.graveler(slow).complete_migration("repo", workers=1)
        assert shown(world.graveler()) == at_once
        assert left_over(world) == []


@pytest.mark.ci
def test_59_a_late_process_changes_nothing(half: World) -> None:
    """The other one completes the repository, and its user goes on, at each call."""
    counted = Interposed(half.fork().kv)
    half.graveler(counted).complete_migration("repo", workers=1)
    for at in range(len(counted.verbs)):
        world = half.fork()
        heads: list[dict[str, str]] = []
        slow = Interposed(world.kv)

        def others(world: World = world, heads: list[dict[str, str]] = heads) -> None:
            g = world.graveler()
            g.complete_migration("repo", workers=1)
            repo = g.repository("repo")
            repo.branch("main").put("own", b"own")
            repo.branch("main").commit("Own work")
            repo.delete_branch("a")
            heads.append({branch.id: branch.commit_id for branch in repo.branches()})

        slow.before[at] = others
        world.graveler(slow).complete_migration("repo", workers=1)
        repo = world.graveler().repository("repo")
        assert [{branch.id: branch.commit_id for branch in repo.branches()}] == heads
        assert repo.branch("main").read("own") == b"own"


def test_59_a_repository_that_is_deleted_in_the_meantime_stays_deleted(half: World) -> None:
    world = half.fork()
    slow = Interposed(world.kv)
    slow.before[9] = lambda: world.graveler().delete_repository("repo")
    with pytest.raises(NotFound):
        world.graveler(slow).complete_migration("repo", workers=1)
    assert [*world.graveler().list_repositories()] == []
    world.clock.sleep(40 * 86_400)
    world.graveler().clean()
    assert left_over(world) == []


def test_an_import_at_once_continues_one_without_indexes(uris: dict[str, str], at_once: dict[str, object]) -> None:
    """And the other way round: each of them may follow a run of the other that died."""
    for incomplete in (False, True):
        counted = Interposed(World().kv)
        imported(World(), uris["lines"], counted, incomplete=incomplete)
        writes = [number for number, verb in enumerate(counted.verbs) if verb in WRITES]
        for at in (writes[len(writes) // 2], writes[-2], writes[-1]):
            world = World()
            dying = Interposed(world.kv)
            dying.fail[at] = Crash()
            with pytest.raises(Crash):
                imported(world, uris["lines"], dying, incomplete=incomplete)
            imported(world, uris["lines"], incomplete=not incomplete)
            g = world.graveler()
            g.complete_migration("repo")
            assert shown(g) == at_once
            assert left_over(world) == []


def test_objects_that_only_an_incomplete_commit_names_are_kept(tmp_path: Path) -> None:
    """Collections look for names in all repositories."""
    world = World()
    g = world.graveler()
    owner = g.create_repository("owner", world.namespace("owner"))
    address = owner.branch("main").put("f", b"content").address
    owner.branch("main").commit("first")
    uri = (tmp_path / "own.zip").as_uri()
    owner.export_nessie(uri)

    def named() -> set[str]:
        held = repositories.find(world.kv, RepositoryId("repo"))
        assert held is not None
        found = named_addresses(world.stores(), held.value, lambda more: None)
        return {each for _, part in found for each in part.column("address").to_pylist()}

    imported(world, uri, incomplete=True)
    assert named() == {f"{world.namespace('owner')}/{address}"}
    g.complete_migration("repo")
    assert named() == {f"{world.namespace('owner')}/{address}"}
