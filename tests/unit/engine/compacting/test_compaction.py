"""Compaction: what it leaves as it was, and what it may do where other flows are told to wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.engine.compacting import compaction
from graveler_core.engine.compacting.compaction import Compacted
from graveler_core.errors import Kind, NoChanges, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.kv.store import Store
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import MAX_LAYERS
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import SWAPS, Interposed, unavailable
from tests.unit.engine.world import World, entry


@pytest.fixture
def main(world: World) -> Branch:
    """a and p/1 committed."""
    branch = world.branch()
    branch.stage("a", entry(0))
    branch.stage("p/1", entry(0))
    branch.commit("base")
    return branch


def again(number: int) -> Entry:
    """The same content as `entry(number)`, at another time and place."""
    return replace(entry(number, mtime=1), address="elsewhere")


def test_the_same_content_again_keeps_its_time_and_address(main: Branch) -> None:
    for number in (0, 1):
        for staged in (entry(number), again(number)):
            shown = main.stage("a", staged)
            main.compact()
            assert main.get("a") == shown
            assert next(iter(main.list())) == shown


def test_a_commit_holds_what_it_would_hold_without_compaction(world: World, main: Branch) -> None:
    """The same content as the head's, again, is the head's entry; of anything else the last that was staged counts."""
    repo = world.graveler().repository("repo")
    dev = repo.create_branch("dev", "main")
    kept = dev.get("p/1")
    for branch in (main, dev):
        branch.stage("p/1", again(0))
        branch.stage("a", entry(1))
        if branch is main:
            branch.compact()
        branch.stage("a", again(1))
        branch.commit("m")
        assert branch.get("p/1") == kept
        assert branch.get("a").address == "elsewhere"
    assert repo.at("main").tree_id() == repo.at("dev").tree_id()


def test_only_the_same_content_again_is_no_change_and_not_dirty(main: Branch) -> None:
    kept = main.get("a")
    main.stage("a", again(0))
    main.compact()
    assert list(main.uncommitted()) == []
    main.hard_reset("main")
    assert main.get("a") == kept
    main.stage("a", again(0))
    main.compact()
    with pytest.raises(NoChanges):
        main.commit("m")
    assert main.get("a") == kept
    assert main.record().compacted_metarange is None


def test_an_empty_commit_over_the_same_content_again_holds_the_heads(world: World, main: Branch) -> None:
    before = world.graveler().repository("repo").at("main").tree_id()
    main.stage("a", again(0))
    main.compact()
    main.commit("m", allow_empty=True)
    assert world.graveler().repository("repo").at("main").tree_id() == before


def test_a_prefix_reset_gives_back_the_heads_time(main: Branch) -> None:
    kept = main.get("a")
    main.stage("a", again(0))
    main.compact()
    main.reset("a")
    assert main.get("a") == kept
    main.compact()
    assert main.get("a") == kept


def test_if_the_new_tree_cannot_be_read_nothing_is_changed(
    world: World, main: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number of entries is part of the result, and its root may not be in the cache any more."""

    def refused(*_: object) -> tuple[int, int]:
        raise unavailable()

    main.stage("b", entry(1))
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "totals", refused)
        with pytest.raises(Unavailable):
            main.compact()
    record = world.branch().record()
    assert record.compacted_metarange is None
    assert len(record.sealed_tokens) == 1
    made = main.compact()
    assert (made.layers, made.entries, made.size) == (1, 3, 1)


# At the layer cap


@pytest.fixture
def full(main: Branch) -> Branch:
    """As many layers as bulk writes may make, and one more entry staged: 100 layers."""
    for number in range(MAX_LAYERS - 1):
        main.remove_prefix(f"none/{number}/")
    main.stage("b", entry(2))
    assert len(main.record().sealed_tokens) + 1 == MAX_LAYERS
    return main


BULK: dict[str, Callable[[Branch], object]] = {
    "stage many": lambda branch: branch.stage_many(table({"c": 3})),
    "remove many": lambda branch: branch.remove_many(["a"]),
    "remove prefix": lambda branch: branch.remove_prefix("p/"),
    "reset prefix": lambda branch: branch.reset("p/"),
}


@pytest.mark.parametrize("verb", BULK)
def test_bulk_writes_wait_for_a_compaction(full: Branch, verb: str) -> None:
    before = full.record()
    with pytest.raises(SlowDown) as caught:
        BULK[verb](full)
    assert caught.value.kind is Kind.TooManyLayers
    assert full.record() == before
    full.compact()
    BULK[verb](full)


RELIEF: dict[str, Callable[[Branch], object]] = {
    "compact": Branch.compact,
    "commit": lambda branch: branch.commit("m"),
    "reset": Branch.reset,
}


@pytest.mark.parametrize("relief", RELIEF)
def test_what_takes_layers_away_never_waits(full: Branch, relief: str) -> None:
    shown = list(full.list())
    RELIEF[relief](full)
    assert full.record().sealed_tokens == ()
    assert list(full.list()) == [item for item in shown if relief != "reset" or item.path != "b"]


@pytest.mark.parametrize("relief", ["compact", "commit"])
def test_writers_go_on_while_layers_are_taken_away(world: World, full: Branch, kv: Interposed, relief: str) -> None:
    """Single writes are never refused: before each call of the flow one is acknowledged, and none is lost."""
    flow = world.branch(kv)
    written: list[str] = []

    def write() -> None:
        full.stage(f"w/{len(written)}", entry(len(written)))
        written.append(f"w/{len(written)}")

    kv.before.update(dict.fromkeys(range(200), write))
    RELIEF[relief](flow)
    kv.reset()
    assert len(written) > 5
    assert {item.path for item in full.list("w/")} == set(written)
    assert len(full.record().sealed_tokens) < 2


# The start time

EVERY = timedelta(minutes=5)


def compact(world: World, kv: Store | None = None) -> Compacted:
    """As another process, giving way to compactions that began a short while ago."""
    return compaction.compact(world.stores(kv), RepositoryId("repo"), BranchId("main"), EVERY)


def test_a_compaction_gives_way_to_one_that_has_just_begun(world: World, main: Branch) -> None:
    main.stage("b", entry(1))
    compact(world)
    main.stage("b", entry(2))
    before = main.record()
    with pytest.raises(SlowDown):
        compact(world)
    assert main.record() == before
    world.clock.sleep(EVERY.total_seconds())
    compact(world)
    assert main.record().compacted_metarange != before.compacted_metarange


@pytest.mark.parametrize("ahead", [2 * EVERY, timedelta(days=1)])
def test_a_start_in_the_far_future_delays_nobody(world: World, main: Branch, ahead: timedelta) -> None:
    """A process whose clock is ahead has written it. The next compaction replaces it."""
    compact_ahead(world, main, ahead)
    compact(world)
    main.stage("b", entry(3))
    with pytest.raises(SlowDown):
        compact(world)
    world.clock.time += EVERY
    compact(world)


@pytest.mark.parametrize("ahead", [timedelta(seconds=1), EVERY / 2])
def test_a_start_in_the_near_future_delays_as_one_in_the_past(world: World, main: Branch, ahead: timedelta) -> None:
    """The clocks of two machines always differ a little."""
    compact_ahead(world, main, ahead)
    with pytest.raises(SlowDown):
        compact(world)
    main.compact(every=timedelta(0))
    main.stage("b", entry(3))
    world.clock.time += EVERY
    compact(world)


def compact_ahead(world: World, main: Branch, ahead: timedelta) -> None:
    """Compact with a clock that is ahead, and stage an entry afterwards."""
    main.stage("b", entry(1))
    world.clock.time += ahead
    compact(world)
    world.clock.time -= ahead
    main.stage("b", entry(2))


def test_of_two_that_begin_at_once_one_builds(world: World, main: Branch) -> None:
    """The start time is set by the swap that seals: who loses it reads the start time of the other."""
    main.stage("b", entry(1))
    alone = world.fork()
    kv = Interposed(alone.kv)
    compact(alone, kv)
    seal = next(number for number, verb in enumerate(kv.verbs) if verb in SWAPS)
    kv = Interposed(world.kv)
    kv.before[seal] = lambda: compact(world)
    with pytest.raises(SlowDown):
        compact(world, kv)
    assert main.record().compacted_metarange is not None
    assert [change.path for change in main.uncommitted()] == ["b"]
