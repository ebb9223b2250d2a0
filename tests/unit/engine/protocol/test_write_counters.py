"""Counters of what was staged: written down, ended with their layers, surveyed, corrected by a scan."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from graveler_core.codec.records import encode
from graveler_core.engine.protocol.write_counters import MANY_LAYERS
from graveler_core.engine.staging import bulk, pressure
from graveler_core.errors import Conflict, CorruptData, Kind, LimitExceeded, NoChanges, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.limits import MAX_VALUE
from graveler_core.model.compaction import CompactionOutcome, CompactionSettings, Counted, Thresholds
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import MAX_LAYERS
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.staging.pressure import Load
from graveler_core.staging.write_counts import WriteCounts
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


class Process:
    """A process with its own counts, on the world's data."""

    def __init__(self, world: World, every: int = 10) -> None:
        self.kv = Counting(world.kv)
        self.time = 1_000.0
        stores = replace(world.stores(self.kv), counts=WriteCounts(every), wall=lambda: self.time)
        self.graveler = Graveler(stores)
        self.main = self.graveler.repository("repo").branch("main")

    def flush(self) -> None:
        """What closing does, without closing the store that others use."""
        self.kv.close = lambda: None  # type: ignore[method-assign]
        self.graveler.close()


@pytest.fixture
def one(world: World) -> Process:
    return Process(world)


@pytest.fixture
def two(world: World) -> Process:
    return Process(world)


def counters(world: World) -> list[str]:
    return [row.key.decode() for row in world.kv.scan(keys.STATS)]


def stage(branch: Branch, times: int, name: str = "a") -> None:
    for number in range(times):
        branch.stage(f"{name}/{number:03}", entry(number))


def loads(graveler: Graveler) -> dict[str, Load]:
    return {found.token: replace(found.load, age=timedelta(0)) for found in graveler.pressures()}


def test_a_few_writes_are_not_written_down(world: World, one: Process) -> None:
    one.kv.reset()
    stage(one.main, 9)
    assert counters(world) == []
    assert one.kv.counts["set"] + one.kv.counts["set_many"] == 9


def test_counts_of_all_processes_are_added(one: Process, two: Process) -> None:
    stage(one.main, 25)
    stage(two.main, 12)
    two.main.remove("z")
    assert loads(one.graveler) == {"repo/main": Load(staged=30)}
    one.flush()
    two.flush()
    assert loads(two.graveler) == {"repo/main": Load(tombstones=1, staged=38)}


def test_rewriting_counts_again_until_a_scan_corrects_it(one: Process, two: Process) -> None:
    for _ in range(3):
        stage(one.main, 10)
    assert one.main.pressure().load.staged == 30
    assert one.main.pressure(exact=True).load.staged == 10
    assert two.main.pressure().load.staged == 10
    stage(one.main, 10, "b")
    stage(two.main, 10, "c")
    assert two.main.pressure().load.staged == 30
    assert two.main.pressure(exact=True).load.staged == 30


@pytest.mark.parametrize("of_each", [False, True], ids=["sum", "each"])
def test_a_scan_replaces_the_counts_of_any_number_of_writers(world: World, one: Process, of_each: bool) -> None:
    """Its record keeps their sum. Records of earlier versions keep the count of each writer."""
    stage(one.main, 10)
    (own,) = counters(world)
    layer, _, writer = own.rpartition("/")
    held = access.read(world.kv, keys.COUNTS.at(own))
    assert held is not None
    others = {f"{number:032x}": Counted(writes=5, tombstones=1) for number in range(20 if of_each else 2_000)}
    for name, counted in others.items():
        access.write(world.kv, keys.COUNTS.at(f"{layer}/{name}"), held.value.model_copy(update={"counted": counted}))
    assert one.main.pressure().load.staged == 10 + 5 * len(others)
    assert one.main.pressure(exact=True).load.staged == 10
    if of_each:
        where = keys.COUNTS.at(f"{layer}/{pressure.SCAN}")
        scanned = access.read(world.kv, where)
        assert scanned is not None
        before = {**others, writer: held.value.counted}
        access.write(world.kv, where, scanned.value.model_copy(update={"scanned_over": before}))
    stage(one.main, 10, "b")
    assert (one.main.pressure().load.staged, one.main.pressure().load.tombstones) == (20, 0)


@pytest.mark.parametrize("end", ["commit", "compact", "reset"])
def test_a_scan_leaves_out_a_layer_that_another_process_takes_meanwhile(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", 5)
    ended = 0
    for number in range(20):
        world = World()
        world.repository()
        world.branch().stage_many(table({f"m/{row}": row for row in range(8)}))
        kv = Interposed(world.kv)
        main, others = world.branch(kv), world.branch()
        take = {"commit": partial(others.commit, "m"), "compact": others.compact, "reset": others.reset}[end]
        kv.reset()
        kv.before[number] = take
        load = main.pressure(exact=True).load
        if number in kv.before:
            break
        assert load.staged in (0, 8)
        ended += not load.staged
    assert ended > 3
    assert kv.before


def test_a_layer_that_a_branch_lists_and_that_is_missing_is_corrupt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", 5)
    world.branch().stage_many(table({f"m/{row}": row for row in range(8)}))
    blobs = world.blobs.at(world.namespace("repo"))
    (address,) = (blob.address for blob in blobs.list("_graveler/staging/") if blob.address.endswith("manifest"))
    blobs.delete_many([address])
    with pytest.raises(CorruptData) as told:
        world.branch().pressure(exact=True)
    assert told.value.kind is Kind.CorruptLayer


def test_a_scan_counts_what_a_killed_process_had_not_written_down(world: World, one: Process) -> None:
    stage(one.main, 19)
    later = Process(world)
    assert later.main.pressure().load.staged == 10
    assert later.main.pressure(exact=True).load.staged == 19


@pytest.mark.parametrize("end", ["commit", "compact", "reset", "delete"])
def test_counters_end_with_their_layers(world: World, one: Process, end: str) -> None:
    dev = one.graveler.repository("repo").create_branch("dev", "main")
    stage(one.main, 15)
    stage(dev, 15)
    assert len(counters(world)) == 2
    {
        "commit": lambda: dev.commit("m"),
        "compact": dev.compact,
        "reset": dev.reset,
        "delete": lambda: one.graveler.repository("repo").delete_branch("dev"),
    }[end]()
    assert [name.partition(":")[0] for name in counters(world)] == ["repo/main"]
    one.flush()
    assert [name.partition(":")[0] for name in counters(world)] == ["repo/main"]


@pytest.mark.parametrize("end", ["commit", "compact", "reset"])
def test_a_damaged_counter_ends_with_its_layer(world: World, one: Process, end: str) -> None:
    stage(one.main, 15)
    _damage(world, one.main.record().staging_token)
    other = _damage(world, "repo/main:other")
    assert len(counters(world)) == 3
    {"commit": lambda: one.main.commit("m"), "compact": one.main.compact, "reset": one.main.reset}[end]()
    assert counters(world) == [other]


def _damage(world: World, layer: str) -> str:
    """Store a counter of a layer that cannot be read, and return its name."""
    broken = keys.COUNTS.at(f"{keys.counts_of_layer(RepositoryId('repo'), BranchId('main'), layer)}!")
    world.kv.set(broken.partition, broken.key, b"\x63")
    return broken.key.decode()


def test_a_damaged_counter_counts_nothing_until_the_records_are_counted_again(
    world: World, one: Process, caplog: pytest.LogCaptureFixture
) -> None:
    stage(one.main, 15)
    name = _damage(world, one.main.record().staging_token)
    with caplog.at_level(logging.ERROR, logger="graveler.damaged_record"):
        assert one.main.pressure().load.staged == 10
    assert [name in event.__dict__["record"] for event in caplog.records] == [True]
    assert one.main.pressure(exact=True).load.staged == 15
    assert name not in counters(world)


def test_a_small_commit_looks_for_no_counter(one: Process) -> None:
    one.main.stage("a", entry(1))
    one.kv.reset()
    one.main.commit("m")
    before = one.kv.counts["scan"]
    stage(one.main, 12)
    one.kv.reset()
    one.main.commit("m")
    assert one.kv.counts["scan"] == before + 1


def test_bulk_layers_are_counted_by_what_they_hold(one: Process, two: Process) -> None:
    one.main.stage_many(table({f"m/{number:04}": number for number in range(1_200)}))
    one.main.remove_many([f"m/{number:04}" for number in range(40)])
    assert loads(two.graveler) == {"repo/main": Load(tombstones=40, staged=1_240, layers=2)}
    assert two.main.pressure(exact=True).load.tombstones == 40
    one.main.commit("m")
    assert loads(two.graveler) == {}


def test_many_layers_name_their_branch(world: World, one: Process) -> None:
    for _ in range(MANY_LAYERS - 1):
        one.main.remove_prefix("x/")
    assert loads(one.graveler) == {}
    one.main.remove_prefix("x/")
    assert loads(one.graveler) == {"repo/main": Load(layers=MANY_LAYERS)}
    one.main.reset()
    assert counters(world) == []


def test_a_branch_that_takes_no_layer_any_more_is_named(world: World, one: Process) -> None:
    while True:
        try:
            one.main.remove_prefix("x/")
        except SlowDown:
            break
    for row in list(world.kv.scan(keys.STATS)):
        world.kv.delete(keys.STATS, row.key)
    with pytest.raises(SlowDown, match="commit or compact"):
        one.main.remove_prefix("x/")
    assert loads(one.graveler)["repo/main"].layers == MAX_LAYERS - 1


def test_what_nobody_lists_is_removed_by_who_looks(world: World, one: Process, two: Process) -> None:
    """A writer that comes late writes a counter of a token that has left; so does one whose repository is gone."""
    stage(one.main, 5)
    two.main.commit("m")
    stage(two.main, 10)
    one.flush()
    repo = two.graveler.create_repository("gone", world.namespace("gone"))
    stage(repo.branch("main"), 10)
    two.graveler.delete_repository("gone")
    two.graveler.create_repository("gone", world.namespace("again"))
    assert len(counters(world)) == 3
    assert loads(two.graveler) == {"repo/main": Load(staged=10)}
    assert len(counters(world)) == 1


@pytest.fixture
def many(world: World) -> Iterator[Process]:
    one = Process(world)
    for name in ("a", "a-b", "a.b", "aa", "b"):
        stage(one.graveler.repository("repo").create_branch(name, "main"), 10)
    stage(one.graveler.create_repository("repo-b", world.namespace("b")).branch("main"), 10)
    return one


def test_a_survey_goes_on_behind_any_branch(many: Process) -> None:
    every = [found.token for found in many.graveler.pressures()]
    assert sorted(every) == ["repo-b/main", "repo/a", "repo/a-b", "repo/a.b", "repo/aa", "repo/b"]
    for place, token in enumerate(every):
        assert [found.token for found in many.graveler.pressures(after=token)] == every[place + 1 :]
    pages = list(many.graveler.pressures().pages(4))
    assert [found.token for page in pages for found in page.items] == every
    assert [found.token for found in many.graveler.pressures(after=pages[0].next or "")] == every[4:]


def test_a_survey_of_one_repository(many: Process) -> None:
    assert [found.token for found in many.graveler.pressures("repo-b/")] == ["repo-b/main"]
    assert len(list(many.graveler.pressures("repo/"))) == 5


def test_a_survey_reads_counters_and_the_records_they_name(many: Process) -> None:
    many.kv.reset()
    assert len(list(many.graveler.pressures("repo/"))) == 5
    assert many.kv.counts.total() <= 4
    assert many.kv.counts["scan"] == 1


@pytest.mark.parametrize("damage", ["branch", "repository", "counter", "thresholds"])
def test_a_survey_leaves_out_what_needs_a_damaged_record_and_removes_no_counter_of_it(
    world: World, many: Process, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    before, first = counters(world), many.graveler.repository("repo-b")._record
    places: dict[str, Location[Any]] = {
        "branch": keys.branch(first, BranchId("main")),
        "repository": keys.repository(first.id),
        "counter": keys.COUNTS.at(before[0]),
        "thresholds": keys.compaction_settings(first),
    }
    where = places[damage]
    world.kv.set(where.partition, where.key, b"junk")
    with caplog.at_level(logging.ERROR, logger="graveler.damaged_record"):
        found = [found.token for found in many.graveler.pressures()]
    assert sorted(found) == ["repo/a", "repo/a-b", "repo/a.b", "repo/aa", "repo/b"]
    assert [event.__dict__["record"] for event in caplog.records] == [where.name]
    assert counters(world) == before


def test_a_survey_of_a_damaged_branch_goes_on_behind_it(world: World, many: Process) -> None:
    where = keys.branch(many.graveler.repository("repo")._record, BranchId("a.b"))
    world.kv.set(where.partition, where.key, b"junk")
    every = [found.token for found in many.graveler.pressures()]
    assert sorted(every) == ["repo-b/main", "repo/a", "repo/a-b", "repo/aa", "repo/b"]
    for place, token in enumerate(every):
        assert [found.token for found in many.graveler.pressures(after=token)] == every[place + 1 :]


def test_thresholds_of_a_repository_and_of_a_branch(one: Process, two: Process) -> None:
    repo = one.graveler.repository("repo")
    stage(one.main, 10)
    assert not one.main.pressure().pressure.over
    repo.set_thresholds(Thresholds(staged=10))
    assert two.main.pressure().pressure.reasons == ("10 staged records of 10",)
    repo.set_thresholds(Thresholds(staged=11), "main")
    assert [found.pressure.over for found in two.graveler.pressures()] == [False]
    assert repo.set_thresholds(None, "main") == repo.thresholds()
    assert two.main.pressure().pressure.over
    repo.set_thresholds(None)
    assert not two.main.pressure().pressure.over


def _full(world: World, named: Sequence[str], others: str) -> None:
    """Store thresholds of branches until one more does not fit: of named ones, and of others."""
    repo = world.graveler().repository("repo")._record
    own = Thresholds(layers=7)
    branches = {BranchId(name): own for name in [*named, *(f"{others}{number}" for number in range(500))]}
    while True:
        settings = CompactionSettings(thresholds=Thresholds(), branches=branches)
        if len(encode(settings)) > MAX_VALUE - 100:
            break
        branches |= {BranchId(f"{others}{len(branches)}{number}"): own for number in range(100)}
    while len(encode(settings)) > MAX_VALUE:
        branches.popitem()
        settings = CompactionSettings(thresholds=Thresholds(), branches=branches)
    access.write(world.kv, keys.compaction_settings(repo), settings)


def test_thresholds_of_branches_that_do_not_exist_make_room(world: World) -> None:
    repo = world.graveler().repository("repo")
    for name in ("there", "undeleted"):
        repo.create_branch(name, "main")
    repo.delete_branch("undeleted")
    broken = keys.branch(repo._record, BranchId("broken"))
    world.kv.set(broken.partition, broken.key, b"junk")
    _full(world, ["there", "undeleted", "broken"], "gone/")
    repo.undelete_branch("undeleted")
    assert repo.thresholds().of(BranchId("undeleted")).layers == 7
    for number in range(3):
        repo.set_thresholds(Thresholds(layers=8), f"new-{number}")
    kept = {name: own.layers for name, own in repo.thresholds().branches.items()}
    assert kept == {"broken": 7, "there": 7, "undeleted": 7, "new-0": 8, "new-1": 8, "new-2": 8}


def test_thresholds_of_too_many_branches_are_refused(world: World) -> None:
    _full(world, [], "there/")
    repo = world.graveler().repository("repo")
    before, main = repo.thresholds(), keys.branch(repo._record, BranchId("main"))
    stored = world.kv.get(main.partition, main.key)
    assert stored is not None
    for name in before.branches:
        where = keys.branch(repo._record, name)
        world.kv.set(where.partition, where.key, stored.value)
    with pytest.raises(LimitExceeded):
        repo.set_thresholds(Thresholds(layers=8), "n" * 200)
    assert repo.thresholds() == before


def test_age_is_that_of_the_oldest_record(one: Process) -> None:
    stage(one.main, 10)
    one.time += 3_600
    assert one.main.pressure().load.age == timedelta(hours=1)
    one.main.commit("m")
    stage(one.main, 10)
    assert one.main.pressure().load.age == timedelta(0)


def test_compactions_are_remembered(one: Process, two: Process) -> None:
    assert one.main.compactions().outcomes == {}
    with pytest.raises(NoChanges):
        one.main.compact()
    stage(one.main, 3)
    one.main.remove_many(["a/001", "a/009"])
    made = one.main.compact()
    stage(one.main, 1, "b")
    with pytest.raises(SlowDown) as busy:
        two.main.compact(every=timedelta(minutes=5))
    assert busy.value.kind is Kind.CompactionUnderWay
    history = two.main.compactions()
    assert history.outcomes == {CompactionOutcome.NOTHING: 1, CompactionOutcome.COMPACTED: 1, CompactionOutcome.BUSY: 1}
    assert [(run.outcome, run.layers, run.records, run.tombstones) for run in history.recent] == [
        (CompactionOutcome.COMPACTED, made.layers, 4, 2)
    ]
    assert (made.layers, made.records, made.tombstones, made.entries, made.size) == (2, 4, 2, 2, 2)
    assert set(history.at_most) == {1}


def test_a_lost_compaction_is_remembered(one: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(one.main, 1)

    def lose(*_: object) -> None:
        raise Conflict("lost", kind=Kind.CompactionLost)

    monkeypatch.setattr("graveler_core.engine.compacting.compaction._install", lose)
    with pytest.raises(Conflict):
        one.main.compact()
    assert one.main.compactions().outcomes == {CompactionOutcome.LOST: 1}


def test_a_branch_of_the_same_name_has_a_history_of_its_own(one: Process) -> None:
    repo = one.graveler.repository("repo")
    for expected in (1, 1):
        dev = repo.create_branch("dev", "main")
        stage(dev, 1)
        dev.compact()
        assert dev.compactions().outcomes == {CompactionOutcome.COMPACTED: expected}
        repo.delete_branch("dev")


def test_a_program_of_a_few_writes_leaves_no_counter(world: World) -> None:
    small, larger = Process(world, every=1_024), Process(world, every=1_024)
    stage(small.main, 31)
    small.flush()
    assert counters(world) == []
    stage(larger.main, 32)
    larger.flush()
    assert loads(larger.graveler) == {"repo/main": Load(staged=32)}


def test_naming_a_branch_keeps_what_was_counted_of_its_layers(one: Process) -> None:
    for _ in range(MANY_LAYERS - 1):
        one.main.remove_prefix("x/")
    one.main.remove_many([f"m/{number:04}" for number in range(200)])
    one.main.remove_prefix("x/")
    assert loads(one.graveler)["repo/main"] == Load(tombstones=200, staged=200, layers=MANY_LAYERS + 1)
