"""A check of data is recorded: it can be resumed, and says when it was complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest

from graveler_core.blobs.port import Blobs
from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.gc import data_check
from graveler_core.gc.data_check import DataCheckPlan, DataProgress, check_data
from graveler_core.gc.data_check_record import DataCheckRecord
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.object_digests import sha256_of
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.data_check import CompleteCheck, DataChecks
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from tests.unit.gc.checked_lake import CheckedLake

T = TypeVar("T")


def reading(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The objects that are read from now on, in order."""
    read: list[str] = []

    def noted(objects: Blobs, key: str, size: int) -> str | Unavailable | None:
        read.append(key)
        return sha256_of(objects, key, size)

    monkeypatch.setattr(data_check, "sha256_of", noted)
    return read


def damage(found: Iterable[Finding]) -> list[str]:
    return [finding.id for finding in found if finding.damage]


def recorded(lake: CheckedLake) -> DataChecks:
    held = access.read(lake.world.kv, keys.data_checks(lake.record))
    assert held is not None
    return held.value


def test_an_interrupted_check_is_continued(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each batch: it reads the rest, and again what was damaged. Then a check begins anew."""
    monkeypatch.setattr(data_check, "_READ", 10)
    damaged = sorted(lake.entries.values(), key=lambda entry: entry.address)[4]
    lake.file(damaged.path).write_bytes(b"x" * damaged.size)
    every = reading(lake, monkeypatch)
    whole = damage(lake.repo.fsck(checksums=True))
    assert (recorded(lake).checksums, recorded(lake).unfinished) == (recorded(lake).sizes, None)
    before = [*every]
    assert before == sorted(before)
    assert len(before) > 30
    for batches in range(1, 4):
        every.clear()
        monkeypatch.setattr(DataCheckRecord, "reached", interrupted(batches))
        with pytest.raises(KeyboardInterrupt):
            list(lake.repo.fsck(checksums=True))
        monkeypatch.undo()
        monkeypatch.setattr(data_check, "_READ", 10)
        every = reading(lake, monkeypatch)
        unfinished = recorded(lake).unfinished
        assert unfinished is not None
        assert (unfinished.through, unfinished.damaged) == (before[10 * batches - 1], (damaged.address,))
        assert damage(lake.repo.fsck(checksums=True, resume=True)) == whole == [damaged.address]
        assert every == [before[4], *before[10 * batches :]]
        last = recorded(lake)
        assert (last.checksums, last.unfinished) == (CompleteCheck(began=unfinished.began, problems=1), None)
    every.clear()
    list(lake.repo.fsck(checksums=True, resume=True))
    assert every == before
    with pytest.raises(InvalidInput, match="checksums"):
        lake.repo.fsck(data=True, resume=True)


def interrupted(batches: int) -> Callable[..., None]:
    """The method that writes down what was read. It is interrupted after some batches."""
    reached, left = DataCheckRecord.reached, [batches]

    def then_stop(record: DataCheckRecord, through: str, damaged: Sequence[str]) -> None:
        reached(record, through, damaged)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return then_stop


@pytest.mark.parametrize("damaged", ["branch", "layout", "lost layout"])
def test_a_check_that_has_not_read_all_entries_is_not_complete(lake: CheckedLake, damaged: str) -> None:
    commit = lake.repo.commit("main").id
    id = "work" if damaged == "branch" else commit
    where: Location[Any] = keys.commit_layout(lake.record, commit)
    if damaged == "branch":
        where = keys.branch(lake.record, BranchId("work"))
    if damaged == "lost layout":
        lake.world.kv.delete(where.partition, where.key)
    else:
        lake.world.kv.set(where.partition, where.key, b"damaged")
    assert damage(lake.repo.fsck(data=True)).count(id) == 1
    assert access.read(lake.world.kv, keys.data_checks(lake.record)) is None


def test_records_that_cannot_be_read_are_told(lake: CheckedLake) -> None:
    """Also by the check of data alone, for what is damaged after the check of the structure."""
    commit = lake.repo.commit("main").id
    damaged: list[Location[Any]] = [
        keys.branch(lake.record, BranchId("work")),
        keys.commit_layout(lake.record, commit),
    ]
    for where in damaged:
        lake.world.kv.set(where.partition, where.key, b"damaged")
    found = check_data(lake.world.stores(), lake.record, DataCheckPlan(), DataProgress())
    assert [(each.trouble, each.thing, each.id) for each in found] == [
        (Trouble.CORRUPT, Thing.BRANCH, "work"),
        (Trouble.CORRUPT, Thing.LAYOUT, commit),
    ]
    assert access.read(lake.world.kv, keys.data_checks(lake.record)) is None


def test_a_check_of_sizes_leaves_an_unfinished_one(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_check, "_READ", 10)
    with monkeypatch.context() as patch:
        patch.setattr(DataCheckRecord, "reached", interrupted(1))
        with pytest.raises(KeyboardInterrupt):
            list(lake.repo.fsck(checksums=True))
    before = recorded(lake)
    assert (before.sizes, before.checksums) == (None, None)
    assert damage(lake.repo.fsck(data=True)) == []
    after = recorded(lake)
    assert after.sizes is not None
    assert (after.checksums, after.unfinished) == (None, before.unfinished)


def test_the_check_that_began_later_owns_the_record(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one goes on to its end, and records nothing more."""
    monkeypatch.setattr(data_check, "_READ", 10)
    earlier, later = (DataCheckRecord(lake.world.stores(), lake.record, resume=False) for _ in range(2))
    later.reached("data/b", [])
    earlier.reached("data/a", [])
    earlier.complete(0, checksums=True)
    unfinished = recorded(lake).unfinished
    assert unfinished is not None
    assert unfinished.through == "data/b"
    later.complete(0, checksums=True)
    assert recorded(lake).unfinished is None


def test_with_very_many_damaged_objects_the_rest_is_read_again(lake: CheckedLake) -> None:
    """Their addresses fill the record before their number is large. A check of sizes still adds its own result."""
    record = DataCheckRecord(lake.world.stores(), lake.record, resume=False)
    few = tuple(f"s3://bucket/{number:04}{'x' * 100}" for number in range(500))
    many = tuple(f"s3://bucket/{number:04}{'x' * 100}" for number in range(1_000))
    record.reached("data/b", few)
    record.reached("data/d", many)
    assert damage(lake.repo.fsck(data=True)) == []
    found = recorded(lake)
    assert found.sizes is not None
    assert found.unfinished is not None
    assert (found.unfinished.through, found.unfinished.damaged) == ("data/b", few)


class ReadOnly(Passing):
    """A store that refuses every change."""

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        if call.writes:
            raise Unavailable("the store is read-only", kind=Kind.StoreReadOnly)
        return work()


def test_a_store_that_cannot_be_written_is_checked(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_check, "_READ", 10)
    repo = lake.world.graveler(ReadOnly(lake.world.kv)).repository("repo")
    assert damage(repo.fsck(checksums=True)) == []
    assert access.read(lake.world.kv, keys.data_checks(lake.record)) is None


def test_a_repository_that_is_deleted_meanwhile_is_not_written(lake: CheckedLake) -> None:
    record = DataCheckRecord(lake.world.stores(), lake.record, resume=False)
    where = keys.data_checks(lake.record)
    lake.world.graveler().delete_repository("repo")
    with pytest.raises(NotFound):
        record.complete(0, checksums=True)
    assert access.read(lake.world.kv, where) is None


def test_batches_are_limited_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one object stay together, and an object that is larger than a batch is a batch."""
    monkeypatch.setattr(data_check, "_READ", 3)
    monkeypatch.setattr(data_check, "_READ_BYTES", 100)
    groups = np.array([0, 0, 1, 2, 3, 4, 5, 6, 6])
    sizes = np.array([1, 1, 1, 1, 200, 60, 60, 1, 1])
    rows = np.arange(len(groups))
    batches = [set(groups[batch].tolist()) for batch in data_check._whole_groups(rows, groups, sizes)]
    assert batches == [{0, 1, 2}, {3}, {4, 5}, {6}]
    assert list(data_check._whole_groups(rows[:0], groups, sizes)) == []
