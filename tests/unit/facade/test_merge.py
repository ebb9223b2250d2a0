"""Merges as a person calls them: what is resolved path by path, what is empty, what is unrelated, what is listed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NoChanges, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import MergeConflictKind, Resolved
from graveler_core.model.entities import Layout
from graveler_core.model.entry import Entry
from graveler_core.objects.commits import CommitCache, prepare, read_commit
from tests.unit.engine.world import World, entry

BASE = {"both": 0, "dev's": 0, "gone here": 0, "gone there": 0, "main's": 0}
AFTER = {"both": 2, "dev's": 2, "gone here": 2, "added": 2}
"""What `dev` made of it; `main` has 1 where both changed."""
CONFLICTS = ["added", "both", "gone here", "gone there"]


@pytest.fixture
def world() -> World:
    """A world of its own."""
    return World()


@pytest.fixture
def repo(world: World) -> Repository:
    """main and dev changed three paths each in their own way, removed one of the other's, and added one of a name."""
    made = world.repository()
    main = made.branch("main")
    for path in BASE:
        main.stage(path, entry(0))
    main.commit("base")
    dev = made.create_branch("dev", "main")
    for path, number in AFTER.items():
        dev.stage(path, entry(number))
    dev.remove("gone there")
    dev.commit("on dev")
    for path in ("both", "gone there", "main's", "added"):
        main.stage(path, entry(1))
    main.remove("gone here")
    main.commit("on main")
    return made


def content(repo: Repository, ref: str = "main@") -> dict[str, int]:
    return {item.path: item.size for item in repo.at(ref).list() if isinstance(item, Entry)}


class TestConflicts:
    """What a merge would leave undecided, before it is tried."""

    def test_each_says_how_the_sides_disagree(self, repo: Repository) -> None:
        found = {conflict.path: conflict for conflict in repo.conflicts("dev", "main")}
        assert {path: conflict.kind for path, conflict in found.items()} == {
            "added": MergeConflictKind.BOTH_ADDED,
            "both": MergeConflictKind.BOTH_CHANGED,
            "gone here": MergeConflictKind.REMOVED_IN_DESTINATION,
            "gone there": MergeConflictKind.REMOVED_IN_SOURCE,
        }
        sides = found["both"].base, found["both"].source, found["both"].destination
        assert [side and (side.path, side.size) for side in sides] == [("both", 0), ("both", 2), ("both", 1)]

    def test_they_are_those_that_a_merge_refuses_with(self, repo: Repository) -> None:
        with pytest.raises(Conflict) as refused:
            repo.merge("dev", into="main")
        assert list(repo.conflicts("dev", "main")) == refused.value.details["conflicts"]

    def test_a_page_of_them(self, repo: Repository) -> None:
        assert [found.path for found in repo.conflicts("dev", "main", limit=2)] == CONFLICTS[:2]
        assert [found.path for found in repo.conflicts("dev", "main", after="both")] == CONFLICTS[2:]
        assert [found.path for found in repo.conflicts("dev", "main", prefix="gone ")] == CONFLICTS[2:]
        pages = [[c.path for c in page.items] for page in repo.conflicts("dev", "main").pages(3)]
        assert pages == [CONFLICTS[:3], CONFLICTS[3:]]

    def test_nothing_in_the_way(self, repo: Repository) -> None:
        assert list(repo.conflicts("dev~1", "main")) == []
        repo.merge("dev", into="main", strategy="source")
        assert list(repo.conflicts("dev", "main")) == []


RESOLVED: dict[str, tuple[Mapping[str, Resolved], dict[str, int]]] = {
    "to either side": (
        {"added": "source", "both": "destination", "gone here": "source", "gone there": "destination"},
        {"added": 2, "both": 1, "dev's": 2, "gone here": 2, "gone there": 1, "main's": 1},
    ),
    "to what one side removed": (
        {"added": "destination", "both": "source", "gone here": "destination", "gone there": "source"},
        {"added": 1, "both": 2, "dev's": 2, "main's": 1},
    ),
    "to entries and to none": (
        {"added": None, "both": entry(7), "gone here": entry(8), "gone there": entry(9)},
        {"both": 7, "dev's": 2, "gone here": 8, "gone there": 9, "main's": 1},
    ),
    "what was no conflict": (
        {"added": None, "both": None, "gone here": None, "gone there": None, "dev's": "destination"},
        {"dev's": 0, "main's": 1},
    ),
}


class TestResolutions:
    """Decisions path by path."""

    @pytest.mark.parametrize("replay", [False, True])
    @pytest.mark.parametrize("case", RESOLVED)
    def test_paths_become_what_was_said(self, repo: Repository, case: str, replay: bool) -> None:
        resolve, expected = RESOLVED[case]
        head, source = repo.commit("main").id, repo.commit("dev").id
        made = repo.merge("dev", into="main", resolve=resolve, replay=replay)
        assert content(repo) == expected
        assert made.parents[1] == source
        assert head in [commit.id for commit in repo.log("main", first_parent=True)]
        with pytest.raises(NoChanges):
            repo.merge("dev", into="main")

    def test_they_go_before_the_strategy(self, repo: Repository) -> None:
        repo.merge("dev", into="main", strategy="source", resolve={"both": "destination"})
        assert content(repo) == {"added": 2, "both": 1, "dev's": 2, "gone here": 2, "main's": 1}

    def test_what_is_not_resolved_stays_a_conflict(self, repo: Repository) -> None:
        with pytest.raises(Conflict) as refused:
            repo.merge("dev", into="main", resolve={"both": "source", "added": None})
        assert [conflict.path for conflict in refused.value.details["conflicts"]] == CONFLICTS[2:]
        assert refused.value.details["count"] == 2

    def test_a_path_that_the_source_did_not_change_is_refused(self, repo: Repository) -> None:
        before = repo.commit("main")
        resolve = dict.fromkeys([*CONFLICTS, "main's", "nowhere"], "source")
        with pytest.raises(InvalidInput, match="2 resolved paths were not changed by the source") as refused:
            repo.merge("dev", into="main", resolve=resolve)
        assert refused.value.details["paths"] == ["main's", "nowhere"]
        assert repo.commit("main") == before

    def test_no_resolution_is_refused_before_anything_is_read(self, repo: Repository) -> None:
        for resolve in ({"both": "ours"}, {"": "source"}, {"both": entry(-1)}):
            with pytest.raises(InvalidInput):
                repo.merge("nowhere", into="nowhere", resolve=resolve)  # type: ignore[arg-type]

    def test_a_side_of_a_listed_conflict_is_an_entry_to_resolve_with(self, repo: Repository) -> None:
        """So any program can decide: here the larger one wins, and what one side removed is gone."""
        chosen: dict[str, Resolved] = {}
        for conflict in repo.conflicts("dev", "main"):
            sides = [conflict.source, conflict.destination]
            chosen[conflict.path] = None if None in sides else max(filter(None, sides), key=lambda side: side.size)
        repo.merge("dev", into="main", resolve=chosen)
        assert content(repo) == {"added": 2, "both": 2, "dev's": 2, "main's": 1}
        assert repo.at("main").get("both") == repo.at("dev").get("both")


class TestNothingToMerge:
    """A merge that changes nothing."""

    @pytest.mark.parametrize("replay", [False, True])
    @pytest.mark.parametrize("allow_empty", [False, True])
    def test_what_the_branch_has_already(self, repo: Repository, replay: bool, allow_empty: bool) -> None:
        """There is nothing to record either: history says it."""
        head = repo.commit("main")
        for source in ("main", "main~1", "dev~1"):
            with pytest.raises(NoChanges) as nothing:
                repo.merge(source, into="main", replay=replay, allow_empty=allow_empty)
            assert nothing.value.details["commit"] == head.id
        assert repo.commit("main") == head

    @pytest.mark.parametrize("replay", [False, True])
    def test_what_has_no_effect_here(self, repo: Repository, replay: bool) -> None:
        repo.branch("dev").hard_reset("dev~1")
        dev = repo.branch("dev")
        dev.stage("main's", entry(1))
        dev.commit("the same as on main")
        head = repo.commit("main")
        with pytest.raises(NoChanges) as nothing:
            repo.merge("dev", into="main", replay=replay)
        assert nothing.value.details["commit"] == head.id
        made = repo.merge("dev", into="main", replay=replay, allow_empty=True)
        assert made.parents == (head.id, repo.commit("dev").id)
        assert made.message == "Merge 'dev' into 'main'"
        assert list(repo.diff(head.id, made.id)) == []

    def test_the_destination_wins_everywhere(self, repo: Repository) -> None:
        dev = repo.create_branch("new", "main~1")
        dev.stage("both", entry(5))
        dev.commit("new")
        with pytest.raises(NoChanges):
            repo.merge("new", into="main", strategy="destination")
        repo.merge("new", into="main", strategy="destination", allow_empty=True)
        assert repo.merge_base("new", "main") == repo.commit("new")


def stranger(world: World, repo: Repository) -> str:
    """A commit of the base's content with a root of its own below."""
    record, stores = repo._record, world.stores()
    found = [read_commit(world.kv, CommitCache(), record, repo.commit(f"dev~{back}").id) for back in (2, 0)]
    root, writes = prepare(
        record, found[0].header.model_copy(update={"nonce": "other"}), Layout(index=found[0].layout.index)
    )
    head, more = prepare(
        record,
        found[1].header.model_copy(update={"parents": (root.id,), "generation": 2, "operations": _all_added(repo)}),
        Layout(index=found[1].layout.index),
    )
    for partition, key, value in [*writes, *more]:
        stores.kv.set(partition, key, value)
    return head.id


def _all_added(repo: Repository) -> str:
    """The digest of adding what dev holds, as a merge into an empty branch computes it."""
    empty = repo.create_branch("empty", "main~2")
    made = repo.merge("dev", into=empty.name)
    header = read_commit(repo._stores.kv, CommitCache(), repo._record, made.id).header
    return header.operations


class TestUnrelatedHistories:
    """Two lines that have no commit in common."""

    def test_they_are_refused(self, world: World, repo: Repository) -> None:
        strange = stranger(world, repo)
        for replay in (False, True):
            with pytest.raises(NotFound, match="no common ancestor") as refused:
                repo.merge(strange, into="main", strategy="source", replay=replay)
            assert refused.value.kind is Kind.NoMergeBase
            assert refused.value.details == {"left": strange, "right": repo.commit("main").id}
        with pytest.raises(NotFound) as refused:
            repo.conflicts(strange, "main")
        assert refused.value.kind is Kind.NoMergeBase

    @pytest.mark.parametrize("replay", [False, True])
    def test_they_are_merged_as_if_both_had_begun_empty(self, world: World, repo: Repository, replay: bool) -> None:
        strange = stranger(world, repo)
        with pytest.raises(Conflict) as refused:
            repo.merge(strange, into="main", allow_unrelated=True, replay=replay)
        found = refused.value.details["conflicts"]
        assert [conflict.path for conflict in found] == ["added", "both", "dev's", "main's"]
        assert {conflict.kind for conflict in found} == {MergeConflictKind.BOTH_ADDED}
        made = repo.merge(strange, into="main", allow_unrelated=True, strategy="source", replay=replay)
        assert content(repo) == AFTER | {"gone there": 1, "main's": 0}
        assert made.parents[1] == strange
        assert repo.merge_base(strange, "main").id == strange

    def test_a_line_that_began_apart_is_repeated_from_nothing(self, world: World, repo: Repository) -> None:
        """It was joined before: the merge base is a commit of this branch, not the empty tree."""
        repo.create_branch("odd", stranger(world, repo))
        repo.merge("main", into="odd", allow_unrelated=True, strategy="destination")
        odd = repo.branch("odd")
        odd.stage("odd", entry(3))
        odd.commit("odd")
        before = content(repo)
        repo.merge("odd", into="main", replay=True, strategy="source")
        log = list(repo.log("main", first_parent=True, limit=3))
        assert all(before.keys() <= content(repo, commit.id).keys() for commit in log)
        assert content(repo) == content(repo, "odd@")
