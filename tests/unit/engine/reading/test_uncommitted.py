"""Tests of the uncommitted changes of a compacted branch: correct for all layers above, and read once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graveler_core.committed.cache import TreeCache
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.reading import uncommitted
from graveler_core.engine.reading.uncommitted import require_clean
from graveler_core.engine.reading.view import view_of
from graveler_core.errors import DirtyBranch
from graveler_core.facade.branch import Branch
from graveler_core.model.changes import ChangeKind
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.stores import Stores
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.budgets.measured import CountedPlaces
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry

REPO, MAIN = RepositoryId("repo"), BranchId("main")


class Process:
    """A process that counts what it asks for, and that forgets nodes, ranges and runs."""

    def __init__(self, world: World) -> None:
        self.kv, self.places = Counting(world.kv), CountedPlaces(world)
        self.stores: Stores = replace(world.stores(self.kv), blobs=self.places)
        self.main = Branch(self.stores, world.graveler().repository("repo")._record, MAIN)

    def paths(self, prefix: str = "") -> list[str]:
        """What is uncommitted, by a process that has nothing else in memory."""
        self.stores = replace(self.stores, ranges=TreeCache())
        self.main = Branch(self.stores, self.main._record, MAIN)
        self.kv.reset()
        self.places.asked.clear()
        return [change.path for change in self.main.uncommitted(prefix)]


@pytest.fixture
def process(world: World) -> Process:
    """k/00 to k/29 committed, in a metarange and in runs above it; some of them changed, removed, added, compacted."""
    main = world.branch()
    main.stage_many(table({f"k/{number:02}": number for number in range(20)}))
    main.commit("many")
    for number in range(20, 30):
        main.stage(f"k/{number:02}", entry(number))
        main.commit("one")
    main.stage_many(table({f"k/{number:02}": number + 100 for number in range(0, 30, 3)}))
    main.remove("k/01")
    main.stage("new", entry(1))
    main.compact()
    return Process(world)


EXPECTED = sorted([*(f"k/{number:02}" for number in range(0, 30, 3)), "k/01", "new"])


def test_a_second_read_asks_for_no_node_range_or_run(process: Process) -> None:
    assert process.paths() == EXPECTED
    assert process.places.asked
    assert process.paths() == EXPECTED
    assert not process.places.asked
    assert process.kv.counts == {"get_many": 1, "scan": 1}, "the records, and what the staging token says"


def test_what_is_staged_above_is_read_alone(process: Process) -> None:
    """Of the tree only what lies at the staged keys."""
    process.paths()
    process.main.stage("k/00", entry(500))
    process.main.stage("zz", entry(1))
    assert process.paths() == [*EXPECTED, "zz"]
    assert len(process.places.asked) < 6
    assert [c.kind for c in process.main.uncommitted("k/0")][:2] == [ChangeKind.CHANGED, ChangeKind.REMOVED]


def test_a_second_look_whether_it_is_clean_reads_nothing(process: Process) -> None:
    for _ in range(2):
        now = fresh(process.stores, REPO, MAIN)
        process.kv.reset()
        process.places.asked.clear()
        process.stores = replace(process.stores, ranges=TreeCache())
        with pytest.raises(DirtyBranch):
            require_clean(process.stores, now, "anything")
    assert not process.places.asked
    assert set(process.kv.counts) <= {"scan", "scan_arrow"}


def test_that_nothing_differs_is_kept_too(world: World) -> None:
    """Two trees of equal entries at other times are compared once."""
    main = world.branch()
    main.stage_many(table({f"k/{number:02}": number for number in range(20)}))
    main.commit("many")
    main.stage("k/05", entry(5, mtime=9))
    main.compact()
    process = Process(world)
    assert process.paths() == []
    assert process.places.asked
    assert process.paths() == []
    assert not process.places.asked
    process.main.hard_reset("main")


def test_another_compaction_or_head_is_compared_anew(process: Process) -> None:
    process.paths()
    process.main.stage("other", entry(7))
    process.main.compact()
    assert process.paths() == sorted([*EXPECTED, "other"])
    process.main.commit("all")
    assert process.paths() == []
    process.main.remove("other")
    process.main.compact()
    assert process.paths() == ["other"]


def test_one_tree_over_two_heads(world: World) -> None:
    """What is kept is kept under both."""
    main = world.branch()
    main.stage("a", entry(1))
    main.commit("one")
    main.remove("absent")
    main.compact()
    tree = main.record().compacted_metarange
    assert list(main.uncommitted()) == []
    main.hard_reset("main")
    main.stage("b", entry(2))
    main.commit("two")
    main.remove("b")
    main.compact()
    assert main.record().compacted_metarange == tree
    assert [change.path for change in main.uncommitted()] == ["b"]
    with pytest.raises(DirtyBranch):
        main.hard_reset("main")


def test_prefixes_and_pages_are_parts_of_the_whole(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graveler_core.facade.branch.PAGE_ROWS", 3)
    for _ in range(2):
        assert process.paths() == EXPECTED
        assert process.paths("k/1") == [path for path in EXPECTED if path.startswith("k/1")]
        assert [c.path for c in process.main.uncommitted(after="k/12", limit=2)] == ["k/15", "k/18"]
    process.main.reset("k/0")
    process.main.remove_prefix("k/2")
    process.main.stage("k/25", entry(25))
    gone = {f"k/{number}" for number in range(20, 30)} - {"k/25"}
    shown = {path for path in EXPECTED if not path.startswith(("k/0", "k/2"))} | gone
    assert process.paths() == sorted(shown)


def test_many_differences_are_not_held(process: Process) -> None:
    """The cache is bounded in bytes, and right when it is too small for anything."""
    view = view_of(process.stores, fresh(process.stores, REPO, MAIN))
    for room in (0, 10_000):
        kept = TreeCache(room)
        for _ in range(2):
            found = list(uncommitted.against_head(view, kept))
            assert [key.decode() for page in found for key in page.keys.to_pylist()] == EXPECTED
        assert kept.held_bytes <= room
