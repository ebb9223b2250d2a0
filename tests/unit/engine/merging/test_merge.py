"""Merge: what it brings, what it lists, what it refuses; three-way decisions themselves are tested with the trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from graveler_core.engine.building import trees as building
from graveler_core.errors import Conflict, DirtyBranch, Kind, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import Layout
from graveler_core.objects.commits import CommitCache, prepare, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo(world: World) -> Repository:
    """main and dev with a common base of x, y, z; dev changed x, removed y, added d; main changed z."""
    made = world.graveler().repository("repo")
    main = made.branch("main")
    for path in "xyz":
        main.stage(path, entry(0))
    main.commit("base")
    dev = made.create_branch("dev", "main")
    dev.stage("x", entry(1))
    dev.remove("y")
    dev.stage("d", entry(2))
    dev.commit("on dev")
    main.stage("z", entry(3))
    main.commit("on main")
    return made


def content(repo: Repository, ref: str) -> dict[str, int]:
    return {item.path: getattr(item, "size", -1) for item in repo.at(ref).list()}


def test_both_sides_are_in_it(repo: Repository) -> None:
    ours, theirs = repo.commit("main").id, repo.commit("dev").id
    made = repo.merge("dev", into="main", committer="me", metadata={"a": "1"})
    assert made.parents == (ours, theirs)
    assert (made.message, made.committer, dict(made.metadata)) == ("Merge 'dev' into 'main'", "me", {"a": "1"})
    assert content(repo, "main") == {"d": 2, "x": 1, "z": 3}
    assert content(repo, "dev") == {"d": 2, "x": 1, "z": 0}


def test_a_second_merge_brings_only_what_is_new(repo: Repository) -> None:
    first = repo.merge("dev", into="main")
    dev = repo.branch("dev")
    dev.stage("e", entry(4))
    dev.commit("more")
    assert repo.merge_base("main", "dev").id == first.parents[1]
    second = repo.merge("dev", into="main", message="second")
    assert second.message == "second"
    assert [change.path for change in repo.diff(first.id, second.id)] == ["e"]
    assert repo.merge("main", into="dev").parents[1] == second.id
    assert content(repo, "dev") == content(repo, "main")


@pytest.mark.parametrize("source", ["v1", "dev~0", "dev@", "commit id"])
def test_any_ref_is_a_source(repo: Repository, source: str) -> None:
    repo.create_tag("v1", "dev")
    theirs = repo.commit("dev").id
    assert repo.merge(theirs if source == "commit id" else source, into="main").parents[1] == theirs


def test_all_conflicts_are_listed(repo: Repository) -> None:
    main = repo.branch("main")
    main.stage("x", entry(5))
    main.stage("y", entry(6))
    main.stage("d", entry(7))
    head = main.commit("conflicting").id
    with pytest.raises(Conflict) as caught:
        repo.merge("dev", into="main")
    assert caught.value.kind is Kind.MergeConflict
    found = {
        c.path: tuple(None if side is None else side.size for side in (c.base, c.source, c.destination))
        for c in caught.value.details["conflicts"]
    }
    assert found == {"d": (None, 2, 7), "x": (0, 1, 5), "y": (0, None, 6)}
    assert caught.value.details["count"] == 3
    assert repo.commit("main").id == head
    before = content(repo, "main")
    repo.merge("dev", into="main", strategy="destination", allow_empty=True)
    assert content(repo, "main") == before
    main.hard_reset("main~1")
    repo.merge("dev", into="main", strategy="source")
    assert content(repo, "main") == {"d": 2, "x": 1, "z": 3}


def test_the_same_change_on_both_sides_is_no_conflict(repo: Repository) -> None:
    main = repo.branch("main")
    main.stage("x", entry(1, mtime=1))
    main.remove("y")
    main.commit("the same")
    repo.merge("dev", into="main")
    assert content(repo, "main") == {"d": 2, "x": 1, "z": 3}
    assert repo.at("main").get("x").mtime == entry(1, mtime=1).mtime


def back_and_forth(branch: Branch) -> None:
    branch.stage("x", entry(9))
    branch.compact()
    branch.stage("x", entry(8))
    branch.compact()


DIRTY: dict[str, Callable[[Branch], object]] = {
    "a record": lambda branch: branch.stage("new", entry(1)),
    "a record without effect": lambda branch: branch.stage("x", entry(0)),
    "a tombstone of nothing": lambda branch: branch.remove("absent"),
    "a removal of nothing": lambda branch: branch.remove_prefix("absent/"),
    "a restoration": lambda branch: branch.reset("x"),
    "a compacted tree": back_and_forth,
}


@pytest.mark.parametrize("what", DIRTY)
def test_a_dirty_destination_is_refused(repo: Repository, what: str) -> None:
    main = repo.branch("main")
    DIRTY[what](main)
    before = main.record()
    refused: list[Callable[[], object]] = [lambda: repo.merge("dev", into="main"), lambda: main.hard_reset("main~1")]
    for act in refused:
        with pytest.raises(DirtyBranch) as caught:
            act()
        assert caught.value.kind is Kind.BranchDirty
    assert main.record() == before
    main.reset()
    repo.merge("dev", into="main")


def test_a_compacted_tree_that_is_the_head_is_clean(repo: Repository) -> None:
    """It leaves with the merge; else the merge would not be seen."""
    main = repo.branch("main")
    main.remove("absent")
    main.compact()
    assert main.record().compacted_metarange is not None
    repo.merge("dev", into="main")
    assert main.record().compacted_metarange is None
    assert content(repo, "main") == content(repo, "main@") == {"d": 2, "x": 1, "z": 3}


def test_a_dirty_source_gives_its_head(repo: Repository) -> None:
    repo.branch("dev").stage("staged", entry(1))
    repo.merge("dev", into="main")
    assert "staged" not in content(repo, "main")


@pytest.mark.parametrize("replay", [False, True])
@pytest.mark.parametrize("strategy", [None, "source"])
def test_what_is_not_kept_in_memory_is_decided_twice(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, replay: bool, strategy: str | None
) -> None:
    monkeypatch.setattr(building, "verdict", partial(building.verdict, max_bytes=0))
    repo.merge("dev", into="main", replay=replay, strategy=strategy)
    assert content(repo, "main") == {"d": 2, "x": 1, "z": 3}


def test_once_under_one_key(repo: Repository) -> None:
    first = repo.merge("dev", into="main", idempotency_key="run")
    dev = repo.branch("dev")
    dev.stage("e", entry(4))
    dev.commit("more")
    assert repo.merge("dev", into="main", idempotency_key="run") == first


def test_a_check_does_not_register_the_key(world: World, repo: Repository) -> None:
    """The check begins with a cached copy of the branch record. Another process has created the branch anew."""
    other = world.graveler().repository("repo")
    work = repo.create_branch("work", source="dev~1")
    work.stage("staged", entry(1))
    work.reset()
    other.delete_branch("work")
    other.create_branch("work", source="dev~1")
    repo.check_merge("dev", into="work", idempotency_key="run")
    assert not list(access.scan(world.kv, keys.operations(repo._record)))
    assert repo.merge("dev", into="work", idempotency_key="run")
    repo.check_merge("dev", into="work", idempotency_key="run")


def test_nothing_new_is_said_of_a_branch_that_is_there(world: World, repo: Repository) -> None:
    """Between any two calls the destination, on which something is staged, is deleted and its layers are emptied."""
    repo.branch("dev").stage("staged", entry(1))
    older = repo.commit("dev~1").id
    for number in range(20):
        copied = world.fork()
        kv = Interposed(copied.kv)
        mine = copied.graveler(kv).repository("repo")
        kv.reset()
        kv.before[number] = lambda copied=copied: copied.graveler().repository("repo").delete_branch("dev")
        with pytest.raises((DirtyBranch, NotFound)):
            mine.merge(older, into="dev")
        if kv.before:
            break
    assert number > 2


def test_unrelated_histories(world: World, repo: Repository) -> None:
    stores, record = world.stores(), repo._record
    root = read_commit(world.kv, CommitCache(), record, repo.commit("main~2").id)
    stranger, writes = prepare(
        record, root.header.model_copy(update={"nonce": "other"}), Layout(index=root.layout.index)
    )
    for partition, key, value in writes:
        stores.kv.set(partition, key, value)
    for act in (
        lambda: repo.merge(stranger.id, into="main"),
        lambda: repo.merge_base("main", stranger.id),
        lambda: list(repo.diff("main", stranger.id, since_merge_base=True)),
    ):
        with pytest.raises(NotFound) as caught:
            act()
        assert caught.value.kind is Kind.NoMergeBase
