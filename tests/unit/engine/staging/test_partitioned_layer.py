"""Rows that many machines stage: what comes of it is what `stage_many` makes; and who dies or comes late."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.staging import bulk as renewal
from graveler_core.engine.staging import layer_room
from graveler_core.engine.staging.bulk import renew
from graveler_core.errors import GravelerError, InvalidInput, Kind, LimitExceeded, PermissionDenied, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.gc.sweep import SweepPlan, sweep
from graveler_core.model.changes import Written
from graveler_core.model.entities import Cleanup
from graveler_core.model.ids import BranchId, LayerId
from graveler_core.model.layers import SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from tests.examples import examples
from tests.old_paths import any_path
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.protocol.test_write_counters import Process
from tests.unit.engine.sorted_rows import PartedRows, parted
from tests.unit.engine.staging.test_bulk_cleanup import Cleaner, listed, recorded
from tests.unit.engine.world import World, entry

ROWS = {f"k/{number:03}": number for number in range(40)}
CUTS = [b"k/011", b"k/011", b"k/027"]
IMPATIENT = CleaningPlan(late=timedelta(0), building=timedelta(0))
LONG_AFTER = datetime.now(UTC) + timedelta(days=30)
"""All files are old by then."""
PATHS = st.text("aé\U0001f600zᄑ/-\x7f", min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_layer, "PIECE_ROWS", 7)


def rows_of(world: World, given: pa.Table, cuts: list[bytes] = CUTS, **more: Any) -> PartedRows:
    return PartedRows(world.stores, parted(given, cuts), **more)


def staged_files(world: World) -> dict[str, set[str]]:
    """Names of files by layer."""
    repo = world.graveler().repository("repo")._record
    found: dict[str, set[str]] = {}
    for blob in world.stores().blobs.at(repo.storage_namespace).list("_graveler/staging/"):
        _, _, layer, name = blob.address.split("/")
        found.setdefault(layer, set()).add(name)
    return found


def shown(world: World) -> dict[str, int]:
    return {item.path: item.size for item in world.branch().list()}


def layer_of(branch: Branch) -> SegmentLayer:
    (layer,) = (layer for layer in branch.record().sealed_tokens if isinstance(layer, SegmentLayer))
    return layer


def with_removals(given: pa.Table, removed: list[bool]) -> pa.Table:
    return given.append_column("removed", pa.array(removed, pa.bool_()))


def committed(stage: Any) -> tuple[str, str, list[Any]]:
    """The tree, the digest of operations and the entries that staging and a commit make of a base."""
    world = World()
    repo = world.repository()
    main = repo.branch("main")
    main.stage_many(table({"a": 1, "é": 2, "zz": 3, "k/005": 77}))
    main.commit("base")
    stage(world, main)
    commit = main.commit("more", allow_empty=True)
    header = commit_of(world.stores(), repo._active(), commit.id).header
    return repo.at("main").tree_id(), header.operations, list(repo.at("main").list())


@settings(max_examples=examples(40), deadline=None)
@given(
    rows=st.dictionaries(PATHS, st.tuples(st.integers(0, 9), st.booleans()), max_size=30),
    cuts=st.lists(PATHS.map(str.encode), max_size=4),
    piece=st.integers(1, 9),
    batch=st.integers(1, 9),
)
def test_it_comes_to_what_stage_many_makes(
    rows: dict[str, tuple[int, bool]], cuts: list[bytes], piece: int, batch: int
) -> None:
    given_rows = with_removals(table({path: n for path, (n, _) in rows.items()}), [gone for _, gone in rows.values()])

    def spread(world: World, main: Branch) -> None:
        written = main.stage_sorted(rows_of(world, given_rows, cuts, batch_rows=batch))
        assert written.records == len(rows)
        assert written.removals == sum(gone for _, gone in rows.values())

    with any_path(), patch.object(segment_layer, "PIECE_ROWS", piece):
        assert committed(spread) == committed(lambda _, main: main.stage_many(given_rows))


def test_the_winners_are_listed_and_the_others_go_with_the_layer(world: World) -> None:
    main = world.branch()
    written = main.stage_sorted(rows_of(world, table(ROWS)))
    # 11, 0, 16 and 13 rows in pieces of 7, each written by two attempts
    assert written == Written(records=40, removals=0, files=2 + 3 + 2)
    layer = layer_of(main)
    assert layer.count == 40
    blobs = world.stores().blobs.at(world.graveler().repository("repo").storage_namespace)
    pieces = segment_layer.manifest(blobs, layer.id).pieces
    assert len(staged_files(world)[layer.id]) == 2 * 7 + 1
    assert {piece.name for piece in pieces} <= staged_files(world)[layer.id]
    assert shown(world) == ROWS
    assert not list(world.graveler().repository("repo").fsck(deep=True))
    main.commit("all")
    assert staged_files(world) == {}
    assert shown(world) == ROWS


def test_they_are_counted_as_a_bulk_write(world: World) -> None:
    main = Process(world).main
    main.stage_sorted(rows_of(world, with_removals(table(ROWS), [number % 4 == 0 for number in range(40)])))
    for exact in (False, True):
        load = world.branch().pressure(exact=exact).load
        assert (load.staged, load.tombstones, load.layers) == (40, 10, 1)


def test_a_piece_ends_before_it_holds_much(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    main = world.branch()
    monkeypatch.setattr(segment_layer, "PIECE_ROWS", 1_000)
    monkeypatch.setattr(segment_layer, "PIECE_BYTES", 4_000)
    large = pa.table({"key": [f"{n:02}" for n in range(12)], "data": [b"x" * 1_500] * 12})
    assert main.stage_sorted(PartedRows(world.stores, [large])).files == 6
    main.stage_many(pa.table({"key": [f"1{n:02}" for n in range(12)], "data": [b"x" * 1_500] * 12}))
    assert [item.size for item in main.list()] == [1_500] * 24


def test_what_comes_back_grows_with_pieces_and_not_with_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    main = world.branch()
    sizes = []
    for rows in (7, 70):
        monkeypatch.setattr(segment_layer, "PIECE_ROWS", rows)
        few = rows_of(world, table({f"{n:04}": n for n in range(4 * rows)}), [], batch_rows=rows)
        assert main.stage_sorted(few).files == 4
        sizes.append(max(map(len, few.answers)))
    assert abs(sizes[0] - sizes[1]) < 16


def test_nothing_is_staged_by_no_rows(world: World) -> None:
    main = world.branch()
    for empty in ([], parted(table({}), [b"a"])):
        assert main.stage_sorted(PartedRows(world.stores, empty)) == Written(0, 0, 0)
    assert main.record().sealed_tokens == ()


BROKEN: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "twice": ("occurs more than once", ["a", "b", "b", "c"], {}),
    "no path": ("must", ["a", "", "c", "d"], {}),
    "size": ("size must not be negative", ["a", "b", "c", "d"], {"size": [1, 2, -3, 4]}),
    "address": ("'../x'", ["a", "b", "c", "d"], {"address": ["a", "b", "../x", "d"]}),
    "null key": ("must not contain nulls", ["a", "b", "c", None], {}),  # type: ignore[list-item]
    "large": ("bytes", ["a", "b", "c", "d"], {"data": [b"", b"", b"x" * 80_000, b""], "address": [None] * 4}),
    "column": ("'colour'", ["a", "b", "c", "d"], {"colour": ["red"] * 4}),
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("piece", [1, 2, 100])
def test_bad_rows_are_refused_as_by_stage_many(
    world: World, monkeypatch: pytest.MonkeyPatch, broken: str, piece: int
) -> None:
    monkeypatch.setattr(segment_layer, "PIECE_ROWS", piece)
    said, paths, columns = BROKEN[broken]
    bad = pa.table({"key": pa.array(paths, pa.string()), "address": paths} | columns)
    main = world.branch()

    def refused(stage: Any) -> GravelerError:
        with pytest.raises((InvalidInput, LimitExceeded), match=said) as raised:
            stage()
        return raised.value

    parts = PartedRows(world.stores, [bad.slice(0, 0), bad])
    here, there = refused(lambda: main.stage_many(bad)), refused(lambda: main.stage_sorted(parts))
    assert (there.message, there.kind, there.details) == (here.message, here.kind, here.details)
    assert main.record().sealed_tokens == ()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([["b"], ["a"]], "'a': its partition must sort after"),
        ([["a", "b"], ["b"]], "'b': its partition must sort after"),
        ([["c", "d", "a"]], "'a': follows 'd', which is greater"),
    ],
)
def test_rows_in_no_order_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, parts: list[list[str]], said: str
) -> None:
    monkeypatch.setattr(segment_layer, "PIECE_ROWS", 2)
    main = world.branch()
    with pytest.raises(InvalidInput, match=said):
        main.stage_sorted(PartedRows(world.stores, [pa.table({"key": part, "address": part}) for part in parts]))
    assert main.record().sealed_tokens == ()


def untouched(world: World) -> PartedRows:
    def called() -> None:
        raise AssertionError("rows were looked at")

    return PartedRows(world.stores, [], between=called)


def test_a_branch_that_takes_no_layer_is_refused_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = world.graveler().repository("repo")
    main = repo.branch("main")
    main.stage_many(table({"a": 1}))
    monkeypatch.setattr(layer_room, "MAX_LAYERS", 2)
    with pytest.raises(SlowDown, match="commit or compact") as raised:
        main.stage_sorted(untouched(world))
    assert raised.value.kind is Kind.TooManyLayers
    monkeypatch.undo()
    repo.protect("main", blocks=["write"])
    with pytest.raises(PermissionDenied):
        main.stage_sorted(untouched(world))


def test_a_branch_that_was_protected_meanwhile_keeps_it_out(world: World) -> None:
    repo = world.graveler().repository("repo")
    main = repo.branch("main")
    rows = rows_of(world, table(ROWS), between=lambda: repo.protect("main", blocks=["write"]))
    with pytest.raises(PermissionDenied):
        main.stage_sorted(rows)
    assert shown(world) == {}


def test_the_branch_may_move_while_workers_write(world: World) -> None:
    main = world.branch()

    def others() -> None:
        main.stage_many(table({"k/000": 7, "x": 8}))
        main.commit("meanwhile")

    main.stage_sorted(rows_of(world, table(ROWS), between=others))
    assert shown(world) == ROWS | {"x": 8}
    assert len(staged_files(world)) == 1


def crashes(world: World) -> Iterator[int]:
    """A process that dies at each of its calls to the key-value store, one after the other; then one that does not."""
    for number in range(60):
        kv = Interposed(world.kv)
        main = world.branch(kv)
        kv.reset()
        kv.fail[number] = Crash()
        try:
            main.stage_sorted(rows_of(world, table(ROWS)))
        except Crash:
            yield number
        else:
            return
    raise AssertionError("it never came to an end")


def test_a_driver_that_dies_leaves_all_or_nothing_and_nothing_unnamed() -> None:
    world = World()
    world.repository()
    for _ in crashes(world):
        assert shown(world) in ({}, ROWS)
        named = {held.value.layer.id for held in recorded(world)} | listed(world.branch())
        assert staged_files(world).keys() <= named
    assert shown(world) == ROWS


def test_a_cleaner_takes_what_dead_drivers_left_and_no_winner() -> None:
    world = World()
    world.repository()
    assert len(list(crashes(world))) > 3
    mine = layer_of(world.branch())
    assert len(staged_files(world)) > 1
    for _ in range(3):
        clean(world.stores(), IMPATIENT)
    assert staged_files(world).keys() == {mine.id}
    assert shown(world) == ROWS


def test_a_layer_that_a_cleaner_took_is_written_again() -> None:
    """Between any two calls of the driver, and while the workers are at work."""
    for number in range(60):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        main = world.branch(kv)
        kv.reset()
        kv.before[number] = Cleaner(world)
        main.stage_sorted(rows_of(world, table(ROWS)))
        assert shown(world) == ROWS
        if kv.before:
            break
    assert number > 3
    world = World()
    world.repository()
    taken: list[str] = []

    def once() -> None:
        if not taken:
            taken.extend(staged_files(world))
            Cleaner(world)()

    written = world.branch().stage_sorted(rows_of(world, table(ROWS), between=once))
    assert (written.records, shown(world)) == (40, ROWS)
    assert layer_of(world.branch()).id not in taken


def test_rows_that_are_gone_when_they_are_written_again_leave_no_layer(world: World) -> None:
    """A cleaner has claimed the layer of the first time. A layer without rows has no manifest."""

    class Gone(PartedRows):
        def map(self, cluster: Any, work: Any) -> Any:
            found = super().map(cluster, work)
            self.parts = [part.slice(0, 0) for part in self.parts]
            return found

    main = world.branch()
    main.stage("zz", entry(1))
    rows = Gone(world.stores, parted(table(ROWS), CUTS))
    rows.between = lambda: Cleaner(world)() if rows.parts[0].num_rows else None
    assert main.stage_sorted(rows) == Written(0, 0, 0)
    assert shown(world) == {"zz": 1}
    main.commit("m")


def test_a_renewed_record_keeps_the_layer_from_a_cleaner(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build takes longer than any bulk write may; the thread that renews is asked to do so all the time."""
    monkeypatch.setattr(renewal, "EVERY", 0.001)
    main = world.branch()

    def hours() -> None:
        for _ in range(5):
            world.clock.sleep(3_000)
            began = world.clock.now()
            while max(held.value.since for held in recorded(world)) < began:
                pass
            clean(world.stores(), CleaningPlan())
            assert not any(held.value.purging for held in recorded(world))

    main.stage_sorted(rows_of(world, table(ROWS), between=hours))
    assert shown(world) == ROWS


def test_a_record_is_renewed_until_a_cleaner_has_it(world: World) -> None:
    repo = world.graveler().repository("repo")._record
    stores = world.stores()
    where = keys.cleanup(repo, "0" * 32)
    assert not renew(stores, where)
    layer = SegmentLayer(id=LayerId("0" * 32), count=0)
    access.create(stores.kv, where, Cleanup(branch=BranchId("main"), layer=layer, since=stores.clock.now()))
    began = stores.clock.now()
    assert renew(stores, where)
    held = access.read(stores.kv, where)
    assert held is not None
    assert held.value.since > began
    access.replace(stores.kv, where, held, held.value.model_copy(update={"purging": True}))
    assert not renew(stores, where)


@pytest.mark.parametrize("ended", ["committed", "never entered"])
def test_what_a_worker_writes_after_all_is_dropped_is_swept(world: World, ended: str) -> None:
    """A task of long ago that still runs: nothing names what it writes, and nothing ever will."""
    repo = world.graveler().repository("repo")
    main = repo.branch("main")
    late: list[bytes] = []

    class Keeping(PartedRows):
        def map(self, cluster: Any, work: Any) -> Any:
            late.append(pickle.dumps(work))
            if ended == "never entered":
                raise Crash
            return super().map(cluster, work)

    try:
        main.stage_sorted(Keeping(world.stores, parted(table(ROWS), CUTS)))
    except Crash:
        world.branch().stage_many(table(ROWS))
    main.commit("all")
    for _ in range(3):
        clean(world.stores(), IMPATIENT)
    assert staged_files(world) == {}
    assert not recorded(world)
    pickle.loads(late[0])(world.stores(), iter(table({"late": 1}).to_batches()))
    main.stage_sorted(rows_of(world, table({"young": 2})))
    ((orphan,), (mine,)) = (set(staged_files(world)) - {layer_of(main).id}, {layer_of(main).id})
    assert sweep(world.stores(), repo._record).blobs == 0, "they are young"
    world.clock.time = LONG_AFTER
    found = sweep(world.stores(), repo._record, SweepPlan(dry_run=True))
    assert orphan in staged_files(world)
    assert sweep(world.stores(), repo._record) == replace(found, dry_run=False)
    assert staged_files(world).keys() == {mine}
    assert shown(world) == ROWS | {"young": 2}


def test_a_sweep_leaves_to_the_cleaner_what_a_record_names(world: World) -> None:
    """However old it is: its builder may be about to put it on the branch."""
    repo = world.graveler().repository("repo")
    main = repo.branch("main")
    world.clock.time = LONG_AFTER
    main.stage_sorted(rows_of(world, table(ROWS), between=lambda: sweep(world.stores(), repo._record)))
    assert shown(world) == ROWS
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]
