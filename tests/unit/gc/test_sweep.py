"""A sweep deletes what nothing names and is old, all of it, and nothing else."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import CorruptData, GravelerError, InvalidInput, Kind, NotFound, OutcomeUnknown
from graveler_core.gc import sweep as sweep_module
from graveler_core.gc.sweep import GRACE, SweepPlan, Swept, sweep
from graveler_core.model.ids import ObjectId
from graveler_core.objects.objects import decode_object
from graveler_core.objects.sweep_register import HOLD_TIME, WORK_TIME, SweepRegister
from graveler_core.records import layout as keys
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import entry
from tests.unit.gc.places import Place
from tests.unit.gc.test_fsck import LEFT_BY_THE_MERGE, fail_to_read, named, only_replaced, renewed, rows

LATER = GRACE + timedelta(minutes=1)


@pytest.fixture
def aged(place: Place) -> Place:
    """The repository, long after all of it was written."""
    place.world.clock.time = datetime.now(UTC)
    age(place, LATER)
    return place


def age(place: Place, before: timedelta) -> None:
    """Have all files be of the present, less some time."""
    then = (place.world.clock.time - before).timestamp()
    for file in place.files:
        os.utime(file, (then, then))


def restore(place: Place, files: dict[Path, bytes]) -> None:
    """Have all files as they were."""
    for file, content in files.items():
        file.write_bytes(content)
    age(place, LATER)


def swept(place: Place, plan: SweepPlan | None = None) -> Swept:
    return sweep(place.stores, place.repo, plan)


def stored_objects(place: Place) -> set[str]:
    return {key[-64:].decode() for _, key, _ in rows(place, b"objects/")}


def test_what_nothing_names_goes(aged: Place) -> None:
    files, objects = named(aged)
    size = sum(file.stat().st_size for file in aged.files if file.name not in files and "staging" not in file.parts)
    before = {name: list(aged.handle.branch(name).list()) for name in ("main", "dev", "work")}
    done = swept(aged)
    assert (done.blobs, done.young, done.renewed, done.rest) == (LEFT_BY_THE_MERGE, 0, 0, 0)
    assert {str(file.relative_to(aged.root / "_graveler")) for file in aged.files} == files
    assert stored_objects(aged) == objects
    assert done.objects > 0
    assert done.size >= size
    assert not aged.found(deep=True)
    assert {name: list(aged.handle.branch(name).list()) for name in ("main", "dev", "work")} == before
    assert swept(aged) == Swept(dry_run=False)


def test_a_dry_run_changes_nothing(aged: Place) -> None:
    before = [(file, file.stat().st_mtime) for file in aged.files], rows(aged, b"")
    would = swept(aged, SweepPlan(dry_run=True))
    assert ([(file, file.stat().st_mtime) for file in aged.files], rows(aged, b"")) == before
    assert swept(aged) == replace(would, dry_run=False)


def test_what_is_young_stays(aged: Place) -> None:
    age(aged, GRACE - timedelta(minutes=1))
    done = swept(aged)
    assert (done.blobs, done.young) == (0, LEFT_BY_THE_MERGE)


def test_what_layouts_named_stays_for_the_grace(place: Place) -> None:
    """A run that was folded: the commit that was built on the old layout may need it."""
    place.world.clock.time += GRACE - timedelta(minutes=1)
    before = stored_objects(place)
    assert before - named(place)[1]
    swept(place)
    assert stored_objects(place) == before


def test_a_limit(aged: Place) -> None:
    total = swept(aged, SweepPlan(dry_run=True))
    first = swept(aged, SweepPlan(limit=2))
    assert first.objects + first.blobs == 2
    assert first.rest == total.objects + total.blobs - 2
    again = swept(aged)
    assert again.objects + again.blobs == first.rest


def test_commits_that_nothing_leads_to_stay_whole(aged: Place) -> None:
    head = aged.handle.commit("dev").id
    shown = [item.path for item in aged.handle.at(head).list()]
    aged.handle.branch("dev").hard_reset("v1")
    aged.handle.branch("main").hard_reset("v1")
    swept(aged)
    assert [item.path for item in aged.handle.at(head).list()] == shown


def test_layers_and_what_is_not_ours_stay(aged: Place) -> None:
    foreign = aged.file("readme")
    foreign.write_bytes(b"not ours")
    os.utime(foreign, (0, 0))
    layers = [file for file in aged.files if "staging" in file.parts]
    swept(aged)
    assert foreign.exists()
    assert all(file.exists() for file in layers)


@pytest.mark.parametrize("kind", [b"layouts/", b"commits/", b"branches/"])
def test_damage_stops_it(aged: Place, kind: bytes) -> None:
    (partition, key, _), *_ = rows(aged, kind)
    aged.world.kv.set(partition, key, b"\x01damaged")
    files = aged.files
    with pytest.raises(CorruptData, match=key.split(b"/")[1].decode()):
        swept(aged)
    assert aged.files == files


def test_a_missing_node_stops_it(aged: Place) -> None:
    root = aged.commit(aged.handle.commit("main").id).layout.index.metarange_id
    aged.file(root).unlink()
    files = aged.files
    with pytest.raises(CorruptData, match=root):
        swept(aged)
    assert aged.files == files


def test_a_missing_node_of_a_branch_whose_record_changes_stops_it(aged: Place) -> None:
    root = aged.handle.branch("work").record().compacted_metarange
    assert root is not None
    aged.file(root).unlink()
    files = aged.files
    with pytest.raises(CorruptData, match=root):
        sweep(renewed(aged), aged.repo)
    assert aged.files == files


def test_a_node_that_cannot_be_read_stops_it(aged: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root = aged.commit(aged.handle.commit("main").id).layout.index.metarange_id
    fail_to_read(monkeypatch, aged.file(root), errno.EIO)
    files = aged.files
    with pytest.raises(CorruptData, match=root):
        swept(aged)
    assert aged.files == files


def test_a_damaged_layout_without_a_commit_stops_it(aged: Place) -> None:
    aged.world.kv.set(keys.partition(aged.repo), b"layouts/" + b"5" * 64, b"garbage")
    files = aged.files
    with pytest.raises(CorruptData, match="5" * 64):
        swept(aged, SweepPlan(grace=timedelta(0), alone=True))
    assert aged.files == files


def test_damage_to_what_only_a_replaced_layout_names_stops_it(aged: Place) -> None:
    _, node = only_replaced(aged)
    node.write_bytes(b"garbage")
    files = aged.files
    with pytest.raises(CorruptData, match=node.name):
        swept(aged)
    assert aged.files == files


def test_a_namespace_of_another_stops_it(aged: Place) -> None:
    claim = keys.namespace_claim(aged.repo.storage_namespace)
    aged.world.kv.delete(claim.partition, claim.key)
    with pytest.raises(CorruptData, match="not claimed"):
        swept(aged)


def test_a_repository_that_is_deleted_meanwhile(aged: Place) -> None:
    files = aged.files
    kv = Interposed(aged.world.kv)
    stores, repo = replace(aged.stores, kv=kv), aged.repo
    kv.before[calls_of_marks(aged)] = lambda: aged.world.graveler().delete_repository("repo")
    with pytest.raises(NotFound) as caught:
        sweep(stores, repo)
    assert caught.value.kind is Kind.RepositoryNotFound
    assert aged.files == files


def calls_of_marks(place: Place) -> int:
    """How many calls of the store a sweep makes before it deletes anything."""
    world = place.world.fork()
    kv = Interposed(world.kv)
    sweep(replace(Place(place.root, world).stores, kv=kv), place.repo, SweepPlan(dry_run=True))
    return len(kv.verbs)


def test_a_short_grace_is_for_who_is_alone(aged: Place) -> None:
    with pytest.raises(InvalidInput, match="1 day"):
        SweepPlan(timedelta(hours=23))
    with pytest.raises(InvalidInput, match="negative"):
        SweepPlan(timedelta(days=-1), alone=True)
    age(aged, timedelta(seconds=1))
    assert swept(aged, SweepPlan(timedelta(0), alone=True)).blobs == LEFT_BY_THE_MERGE


def garbage(place: Place) -> list[ObjectId]:
    """Ids of the old blobs that nothing names."""
    return [ObjectId(file.name) for file in place.files if file.name not in named(place)[0] and len(file.name) == 64]


def test_an_old_blob_that_somebody_finds_is_renewed(aged: Place) -> None:
    id = garbage(aged)[0]
    kept = aged.stores.trees(aged.repo).blobs
    assert kept.create(f"_graveler/{id}", aged.file(id).read_bytes()) is False
    done = swept(aged)
    assert (done.blobs, done.young) == (LEFT_BY_THE_MERGE - 1, 1)
    assert aged.file(id).exists()


@pytest.mark.ci
def test_finders_between_any_two_calls(aged: Place) -> None:
    """Whoever is told that a blob is there has it afterwards, whatever the sweep was doing: before its register, while
    somebody waits for it, after it.
    """
    files = {file: file.read_bytes() for file in aged.files}
    id = garbage(aged)[-1]
    marks, found = calls_of_marks(aged), []
    for at in range(marks - 2, marks + 12):
        restore(aged, files)
        place = Place(aged.root, aged.world.fork())
        kv = Interposed(place.world.kv)
        data, kept = files[aged.file(id)], place.stores.trees(place.repo).blobs
        kv.before[at] = partial(kept.create, f"_graveler/{id}", data)
        sweep(replace(place.stores, kv=kv), place.repo)
        found.append(at not in kv.before)
        assert aged.file(id).exists() == found[-1], at
    assert sum(found) >= 5


def test_an_object_that_somebody_needs_is_spared(aged: Place) -> None:
    """It is written anew between the marks and its deletion."""
    (id, *_) = sorted(stored_objects(aged) - named(aged)[1])
    objects = aged.stores.indexes(aged.repo).objects
    partition, key = keys.stored_object(aged.repo, ObjectId(id))
    stored = aged.world.kv.get(partition, key)
    assert stored is not None
    data = decode_object(stored.value, ObjectId(id))[0]
    marks = calls_of_marks(aged)
    outcomes = []
    for after in (0, 1):
        aged.world.kv.set(partition, key, stored.value)
        kv = Interposed(aged.world.kv)
        kv.before[marks + after] = lambda: aged.world.kv.set(*objects.prepare(data)[1])
        done = sweep(replace(aged.stores, kv=kv), aged.repo)
        outcomes.append(done.renewed)
        assert aged.world.kv.get(partition, key) is not None
    assert outcomes == [1, 1]


def test_a_crash_leaves_the_rest_to_the_next(aged: Place) -> None:
    register = SweepRegister(aged.world.kv, aged.repo, aged.world.clock, aged.world.ids)
    where = keys.sweeping(aged.repo)
    with register.held():
        left = aged.world.kv.get(where.partition, where.key)
    assert left is not None
    aged.world.kv.set(where.partition, where.key, left.value)
    began = aged.world.clock.time
    assert swept(aged).blobs == LEFT_BY_THE_MERGE
    assert aged.world.clock.time - began > HOLD_TIME - timedelta(seconds=1)
    assert aged.world.kv.get(where.partition, where.key) is None


def test_a_failed_deletion_leaves_the_register(aged: Place) -> None:
    """The request may still arrive, so whoever needs one of the files has to wait."""

    def lost(verb: str, address: str) -> OutcomeUnknown | None:
        return OutcomeUnknown("lost") if verb == "delete" else None

    where = keys.sweeping(aged.repo)
    blobs = CountingBlobs(aged.stores.blobs.at(aged.repo.storage_namespace), lost)
    with patch.object(OpenedBlobs, "at", lambda *_: blobs), pytest.raises(OutcomeUnknown):
        swept(aged)
    assert aged.world.kv.get(where.partition, where.key) is not None


def test_a_sweep_asks_again_before_each_few_deletions(aged: Place) -> None:
    """Each deletion takes so long that there is no time for a second."""
    clock, slow = aged.world.clock, list[int]()

    class Slow(CountingBlobs):
        @property
        def deletes_at_once(self) -> int:
            return 1_000

        def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
            slow.append(len(addresses))
            clock.sleep(WORK_TIME.total_seconds())
            return super().delete_many(addresses)

    blobs = Slow(aged.stores.blobs.at(aged.repo.storage_namespace))
    with patch.object(OpenedBlobs, "at", lambda *_: blobs), patch.object(sweep_module, "_DELETED_AT_ONCE", 2):
        done = swept(aged)
    assert slow == [2]
    assert (done.blobs, done.rest) == (2, LEFT_BY_THE_MERGE - 2)


def test_damaged_objects_stay(aged: Place) -> None:
    (id, *_) = sorted(stored_objects(aged) - named(aged)[1])
    partition, key = keys.stored_object(aged.repo, ObjectId(id))
    aged.world.kv.set(partition, key, b"\x01damaged")
    assert swept(aged).unreadable == 1
    assert aged.world.kv.get(partition, key) is not None


def test_a_compacted_tree_that_a_commit_takes_while_it_marks(aged: Place) -> None:
    """Before each call of the sweep once."""
    files = {file: file.read_bytes() for file in aged.files}
    for at in range(250, calls_of_marks(aged), 24):
        restore(aged, files)
        world = aged.world.fork()
        place = Place(aged.root, world)
        kv = Interposed(world.kv)
        kv.before[at] = take(place)
        sweep(replace(place.stores, kv=kv), place.repo, SweepPlan(dry_run=False))
        assert not [f for f in place.found() if f.damage], at


def take(place: Place) -> Callable[[], object]:
    def act() -> None:
        work = place.handle.branch("work")
        work.stage("more", entry(3))
        work.commit("takes the compacted tree")
        assert work.record().compacted_metarange is None

    return act
