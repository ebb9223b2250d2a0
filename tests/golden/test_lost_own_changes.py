"""A repository whose inline indexes lost what their commits changed: it is found, understood and repaired."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.committed.index.layers import own_changes
from graveler_core.engine.reading import changed_keys, history
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import CommitCache, StoredCommit, scan_headers
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.golden.history import world_of_then
from tests.golden.lost_own_changes import FAULTY, LATE, LATER, MANY, NAME, NEW, PATHS, load, play, process
from tests.unit.engine.world import World

CHANGED = {
    "add new": ChangeSummary(added=1, changed=0, removed=0),
    "remove late": ChangeSummary(added=0, changed=0, removed=1),
    "remove 2,001": ChangeSummary(added=0, changed=0, removed=2_001),
    "remove later": ChangeSummary(added=0, changed=0, removed=1),
}
LOST_BY_READERS = (changed_keys, "own_changes_of"), (history, "own_changes_of")


@pytest.fixture
def world() -> World:
    made = World()
    load(made)
    return made


@pytest.fixture
def old(world: World) -> Repository:
    return opened(world)


def opened(world: World) -> Repository:
    """The repository as a process sees it that has read nothing yet."""
    return Graveler(replace(process(world), commits=CommitCache())).repository(NAME)


def ids(world: World) -> dict[str, CommitId]:
    """The ids of all commits by their messages, also of those that nothing leads to."""
    return {header.message: id for id, header in scan_headers(world.kv, opened(world)._record)}


def layouts(world: World) -> dict[bytes, bytes]:
    folder = keys.history(opened(world)._record).layouts
    return {row.key: row.value for row in world.kv.scan(folder.partition, prefix=folder.prefix)}


def as_before(stores: Stores, repo: object, commit: StoredCommit) -> object:
    """A commit's own changes as they were read before readers knew of the fault."""
    return own_changes(stores.indexes(repo), commit.layout.index)  # type: ignore[arg-type]


def check_history(world: World, repo: Repository) -> None:
    """Summaries, logs and merges say what the faulty commits changed."""
    known = ids(world)
    for message, summary in CHANGED.items():
        id = known[message]
        assert repo.diff_summary(f"{id}~1", id) == summary
        assert repo.commit(id).id == id
    assert [commit.message for commit in repo.log("main", prefix=NEW)] == ["add new"]
    assert [commit.message for commit in repo.log("main", prefix=LATE)] == ["remove late", "all"]
    into = repo.create_branch("into", source=known["remove 1600"])
    repo.merge("main", into="into", committer="ann")
    assert [entry.path for entry in into.list()] == [entry.path for entry in repo.at("main").list()]


@pytest.mark.parametrize("deep", [False, True])
def test_a_check_names_the_commits(world: World, old: Repository, deep: bool) -> None:
    reachable = set(FAULTY) - {"remove later"}
    damage = [finding for finding in old.fsck(deep=deep) if finding.damage]
    assert {(finding.trouble, finding.thing) for finding in damage} == {("inconsistent", "index")}
    assert {finding.id for finding in damage} == {ids(world)[message] for message in reachable}
    assert {finding.named_by for finding in damage} == {f"commit {finding.id}" for finding in damage}
    assert all("does not mark the changes of its commit" in finding.why for finding in damage)


def test_readers_understand_it_unrepaired(world: World, old: Repository) -> None:
    check_history(world, old)


def test_the_stored_indexes_tell_nothing(world: World, old: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file does hold the fault: readers that believe its indexes see no change."""
    for module, name in LOST_BY_READERS:
        monkeypatch.setattr(module, name, as_before)
    id = ids(world)["add new"]
    assert old.diff_summary(f"{id}~1", id) == ChangeSummary(added=0, changed=0, removed=0)
    assert [commit.message for commit in old.log("main", prefix=NEW)] == []


def test_a_repair_makes_what_history_needs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    known, trees = ids(world), tree_ids(world)
    before = layouts(world)
    repaired = opened(world).repair_indexes()
    assert repaired.unrepaired == ()
    assert repaired.examined == len(known)
    assert set(repaired.repaired) == {known[message] for message in FAULTY}
    changed = {key for key, value in layouts(world).items() if before[key] != value}
    assert changed == {keys.commit_layout(opened(world)._record, id).key for id in repaired.repaired}
    for module, name in LOST_BY_READERS:  # the layouts themselves are right, not readers alone
        monkeypatch.setattr(module, name, as_before)
    assert (ids(world), tree_ids(world)) == (known, trees)
    check_history(world, opened(world))
    assert not [finding for finding in opened(world).fsck(deep=True) if finding.damage]


def tree_ids(world: World) -> dict[str, str]:
    """The ids of the content of all commits."""
    repo = opened(world)
    return {message: repo.at(id).tree_id() for message, id in ids(world).items()}


def test_repaired_layouts_are_those_that_commits_get_today(world: World) -> None:
    """All but the merge, which is another commit: it left nothing out."""
    opened(world).repair_indexes()
    today = world_of_then()
    play(today)
    found, expected = layouts(world), layouts(today)
    both = found.keys() & expected.keys()
    assert len(both) == len(found) - 1 == len(expected) - 1
    assert {key: found[key] for key in both} == {key: expected[key] for key in both}


def test_a_second_repair_finds_nothing(world: World) -> None:
    opened(world).repair_indexes()
    before = layouts(world)
    assert opened(world).repair_indexes().repaired == ()
    assert layouts(world) == before


def test_a_sweep_goes_on_beside_it(world: World, old: Repository) -> None:
    """A wrong index leads to all that its commit has, so nothing is unknown; and a repair leaves nothing behind."""
    assert old.sweep(dry_run=True, grace=timedelta(0), alone=True).blobs == 0
    old.repair_indexes()
    swept = old.sweep(grace=timedelta(0), alone=True)
    assert (swept.blobs, swept.objects) == (0, 0)
    check_history(world, opened(world))


def test_the_process_that_repairs_sees_it_at_once(old: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_keys, "own_changes_of", as_before)
    assert old.diff_summary("main~2", "main~1") == ChangeSummary(added=0, changed=0, removed=0)
    old.repair_indexes()
    assert old.diff_summary("main~2", "main~1") == CHANGED["remove late"]


def test_what_a_merge_left_out_is_picked_afterwards(world: World, old: Repository) -> None:
    behind, known = old.branch("behind"), ids(world)
    assert not list(behind.list(NEW))
    assert behind.get(MANY[0]).size == 1
    old.repair_indexes()
    for message in ("add new", "remove late"):
        old.cherry_pick(known[message], onto="behind", committer="ann")
    shown = {entry.path for entry in behind.list()}
    assert shown == {entry.path for entry in old.at("main").list()} | {"behind"}
    assert LATER in shown
    assert PATHS[0] not in shown
