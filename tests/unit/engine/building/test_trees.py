"""Commits, compactions and merges in parts on other machines: equal to those that are made here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.committed.partitioned_build import TreePartition, assemble
from graveler_core.committed.split_point_alignment import closed
from graveler_core.committed.split_points import SplitPoint
from graveler_core.engine.building import changes as sources
from graveler_core.engine.building import trees as building
from graveler_core.engine.compacting.compaction import Compacted
from graveler_core.engine.protocol.write_counters import write_down_at_end
from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.registry import open_store
from graveler_core.model.ids import BranchId, StagingToken
from graveler_core.objects.commits import read_commit
from graveler_core.records import layout as keys
from graveler_core.refs.branches import get_branch
from graveler_core.segments.boundary import Cutting
from graveler_core.staging import segment_layer
from graveler_core.stores import Stores
from tests.unit.engine.flows import table
from tests.unit.engine.in_parts import Scattered
from tests.unit.engine.world import TINY_SIZES, AtOnce, CountedIds, FakeClock, entry
from tests.unit.segments.blocks import small_blocks

MANY = {f"k/{n:04}": n % 50 for n in range(400)}
_number = count()
Play = Callable[[Repository], None]


@pytest.fixture(autouse=True, scope="module")
def _little_is_much() -> Iterator[None]:
    """Digests of many blocks, layers of files of many pieces, though there are few entries."""
    with small_blocks(6), patch.object(bulk, "SEGMENT_ROWS", 150), patch.object(segment_layer, "PIECE_ROWS", 40):
        yield


def here(tmp_path: Path) -> Stores:
    """Stores on one file and directory, as another process opens them. Nothing is small: all is built from columns."""
    return Stores(
        kv=open_store(f"sqlite:///{tmp_path}/meta.db?durability=process"),
        blobs=OpenedBlobs(durable=False),
        clock=FakeClock(),
        ids=CountedIds(),
        executor=AtOnce(),
        cutting=Cutting(mean_entries=16, max_bytes=6_000, fan_out=3),
        sizes=TINY_SIZES,
    )


class Both:
    """The same calls on two repositories, of which one has a cluster."""

    def __init__(self, tmp_path: Path, seed: int) -> None:
        places = tmp_path / "here", tmp_path / "there"
        self.repos: list[Repository] = []
        for place in places:
            place.mkdir()
            stores = here(place)
            if place.name == "there":
                self.cluster = Scattered(lambda: here(places[1]), seed=seed)
                stores = replace(stores, cluster=self.cluster)
            namespace = f"file://{place}/data"
            self.repos.append(Graveler(stores).create_repository("repo", namespace))

    def play(self, *calls: Play) -> None:
        for call in calls:
            for repo in self.repos:
                call(repo)

    def same(self, ref: str = "main") -> None:
        ours, theirs = self.repos
        mine, others = ours.at(ref), theirs.at(ref)
        assert [*mine.list()] == [*others.list()]
        assert mine.tree_id() == others.tree_id()
        assert operations(ours, ref) == operations(theirs, ref)
        assert not [finding for finding in theirs.fsck(deep=True) if finding.damage]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path, seed=1)


def operations(repo: Repository, ref: str) -> list[str]:
    """The digests of what the commits of a ref changed."""
    stores, record = repo._stores, repo._active()
    return [read_commit(stores.kv, stores.commits, record, e.id).header.operations for e in repo.log(f"{ref}@")]


def stage(numbers: dict[str, int], branch: str = "main") -> Play:
    return lambda repo: repo.branch(branch).stage_many(table(numbers))


def put(numbers: dict[str, int], branch: str = "main", mtime: int = 0) -> Play:
    def staged(repo: Repository) -> None:
        for path, number in numbers.items():
            repo.branch(branch).stage(path, entry(number, mtime))

    return staged


def commit(message: str = "many", branch: str = "main") -> Play:
    def made(repo: Repository) -> None:
        repo.branch(branch).commit(message)

    return made


def test_commits_of_layers_of_every_kind(both: Both) -> None:
    both.play(stage(MANY), commit())
    both.same()
    both.play(lambda repo: repo.branch("main").remove_prefix("k/01"), stage({f"k/01{n}": 7 for n in range(10)}))
    both.play(stage({f"l/{n:03}": n for n in range(90)}), lambda repo: repo.branch("main").reset("k/02"), commit())
    both.same()
    assert len(both.cluster.done) == 2
    assert all(1 < pieces <= 4 for pieces in both.cluster.done)


@pytest.mark.ci
def test_commits_of_one_huge_token(both: Both) -> None:
    both.play(put(MANY), lambda repo: repo.branch("main").pressure(exact=True), commit())
    assert both.cluster.done == [4]
    both.same()


def test_a_damaged_counter_stops_no_commit(both: Both) -> None:
    def damaged(repo: Repository) -> None:
        layer = keys.counts_of_layer(repo.id, BranchId("main"), repo.branch("main").record().staging_token)
        where = keys.COUNTS.at(f"{layer}broken")
        repo._stores.kv.set(where.partition, where.key, b"\x63")

    both.play(put(MANY), damaged, commit())
    assert both.cluster.done == [4]
    both.same()


@pytest.mark.ci
@pytest.mark.parametrize("lost", ["all", "most"])
def test_a_commit_of_what_killed_writers_staged(both: Both, lost: str) -> None:
    """Their counts died with them: the store is asked how much there is."""
    both.cluster.least = 300
    stores = both.repos[1]._stores
    both.play(put(MANY))
    stores.counts.begin()
    if lost == "most":
        both.play(put({"k/0001": 9}), lambda repo: write_down_at_end(repo._stores))
    both.play(commit())
    assert both.cluster.done == [4]
    both.same()


@pytest.mark.ci
def test_counters_that_tell_much_are_believed(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_DOUBTED", 300)
    both.play(put(MANY), lambda repo: repo.branch("main").pressure(exact=True))
    monkeypatch.setattr(sources, "about_rows", None)
    both.play(commit())
    assert both.cluster.done == [4]
    both.same()


def test_without_a_cluster_nothing_is_counted(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "about_rows", None)
    put(MANY)(both.repos[0])
    both.repos[0].branch("main").commit("here")
    assert both.repos[0].at("main@").get("k/0001").size == 1


@pytest.mark.ci
def test_a_commit_on_a_compacted_tree(both: Both) -> None:
    both.play(stage(MANY), commit())
    both.play(stage({f"k/{n:04}": n for n in range(100, 300)}))
    both.play(put({f"k/{n:04}": n % 50 for n in range(0, 60, 2)}, mtime=9), lambda repo: repo.branch("main").compact())
    both.play(stage({f"k/{n:04}": n % 50 for n in range(200, 350)}), lambda repo: repo.branch("main").reset("k/011"))
    both.cluster.done.clear()
    both.play(commit("more"))
    assert len(both.cluster.done) == 3, "built, compared, and what was equal is the parent's again"
    both.same()


@pytest.mark.ci
def test_compactions_say_the_same(both: Both) -> None:
    said = list[Compacted]()
    both.play(stage(MANY), commit(), stage({f"k/{n:04}": n for n in range(100, 300)}))
    both.play(lambda repo: repo.branch("main").remove_prefix("k/03"))
    both.play(lambda repo: said.append(repo.branch("main").compact()))
    assert said[0] == said[1]
    both.same()


@pytest.mark.ci
def test_merges(both: Both) -> None:
    both.play(stage(MANY), commit(), lambda repo: repo.create_branch("dev", "main"))
    both.play(stage({f"k/{n:04}": 77 for n in range(0, 400, 3)}, "dev"), commit(branch="dev"))
    both.play(stage({f"l/{n:04}": 77 for n in range(100)}), commit())
    both.cluster.done.clear()
    both.play(lambda repo: repo.merge("dev", into="main"))
    assert len(both.cluster.done) == 2, "decided, then built"
    both.same()


@pytest.mark.ci
def test_conflicts_are_counted_and_the_first_are_listed(both: Both) -> None:
    both.play(stage(MANY), commit(), lambda repo: repo.create_branch("dev", "main"))
    for branch, number in (("dev", 1), ("main", 2)):
        both.play(stage({f"k/{n:04}": 100 * number for n in range(0, 400, 3)}, branch), commit(branch=branch))
    told = list[tuple[str, object]]()
    for repo in both.repos:
        with pytest.raises(Conflict) as caught:
            repo.merge("dev", into="main")
        told.append((caught.value.message, caught.value.details))
    assert told[0] == told[1]
    both.play(lambda repo: repo.merge("dev", into="main", strategy="source", resolve={"k/0000": "destination"}))
    both.same()


def test_small_work_stays_here(both: Both) -> None:
    both.cluster.least = 1_000
    both.play(stage(MANY), commit(), put({"k/0001": 9}), commit())
    assert both.cluster.done == []
    both.same()


@pytest.mark.ci
def test_parts_that_meet_where_ranges_end_leave_nothing_to_join(both: Both) -> None:
    """Of layers of files and of tokens, on an empty branch and on entries, removals among them."""
    open_ends = list[int]()
    for changes in (
        stage(MANY),
        put({f"k/{n:04}": 300 + n for n in range(0, 400, 2)}),
        stage({f"k/{n:04}x": n for n in range(0, 400, 2)}),
        lambda repo: repo.branch("main").remove_many(f"k/{n:04}" for n in range(0, 400, 3)),
    ):
        both.play(changes, lambda repo: repo.branch("main").pressure(exact=True))
        with patch.object(building, "assemble", lambda trees, parts: assemble(trees, noted(parts, open_ends))):
            both.play(commit())
        both.same()
    assert both.cluster.done == [4, 4, 4, 4]
    assert open_ends == [0] * 16


def noted(parts: Iterator[TreePartition], open_ends: list[int]) -> Iterator[TreePartition]:
    """How many entries each part leaves to whoever puts them together."""
    for part in parts:
        open_ends.append(part.head.num_rows + part.tail.num_rows)
        yield part


@pytest.mark.ci
def test_a_late_write_that_removes_where_parts_meet(both: Both) -> None:
    """It lands in a sealed token between the looks of two neighbours; nobody acknowledges it. They work once more."""
    both.play(stage(MANY), commit(), put({f"k/{n:04}": 300 + n for n in range(0, 400, 2)}))
    both.play(lambda repo: repo.branch("main").pressure(exact=True))
    theirs, late = both.repos[1], list[str]()
    stores = theirs._stores

    def lost(*arguments: Any) -> SplitPoint | None:
        found = closed(*arguments)
        if found is not None and found.closed and not late:
            (sealed,) = get_branch(stores.kv, theirs._active(), BranchId("main")).value.sealed_tokens
            stores.kv.set(keys.staging(StagingToken(sealed.id)), keys.staged(found.key), TOMBSTONE_VALUE)
            late.append(found.key.decode())
        return found

    with patch.object(building, "closed", lost):
        theirs.branch("main").commit("many")
    assert both.cluster.done[-2:] == [4, 4]
    (path,) = late
    both.repos[0].branch("main").remove(path)
    both.repos[0].branch("main").commit("many")
    both.same()


def test_a_worker_that_fails_leaves_the_branch_as_it_was(both: Both) -> None:
    both.play(stage(MANY), commit(), stage({f"k/{n:04}": n for n in range(200, 390)}))

    def fail() -> None:
        raise SlowDown("a worker was killed")

    both.cluster.before = fail
    theirs = both.repos[1]
    head, shown = theirs.at("main@").tree_id(), [*theirs.at("main").list()]
    with pytest.raises(SlowDown, match="killed"):
        theirs.branch("main").commit("many")
    assert (theirs.at("main@").tree_id(), [*theirs.at("main").list()]) == (head, shown)
    both.cluster.before = lambda: None
    both.play(commit())
    both.same()
