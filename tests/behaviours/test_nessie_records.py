"""Nessie's behaviours of references and of upserts (1-8, 13, 14, 16-19), as they hold for our records.

Left out: mark-as-deleted flags and purging of a flagged row (2, 3, 5: what is deleted is gone from its place, and
repositories leave a record of their own for the cleaner), previous pointers (6: `test_reference_behaviours`), null
inputs and argument errors (8, 11, 18: the types exclude them).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, LimitExceeded, PredicateFailed
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.bulk import set_many
from graveler_core.kv.store import Store
from graveler_core.model.entities import BranchRecord, Record, Tag
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryUid, StagingToken, TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder, Location
from tests.unit.records.samples import RECORDS, REPOSITORY, SINCE

BRANCH = BranchRecord.model_validate(RECORDS["branch"])
WHERE = keys.branch(REPOSITORY, BranchId("main"))
OTHER_REPOSITORY = REPOSITORY.model_copy(update={"uid": RepositoryUid("u2")})
CHANGES: dict[str, Any] = {
    "uid": "b2",
    "epoch": 3,
    "commit_id": CommitId("c2"),
    "staging_token": StagingToken("repo/main:t9"),
    "sealed_tokens": (),
    "compacted_metarange": MetarangeId("m2"),
    "compaction_start_time": SINCE + timedelta(microseconds=1),
    "nonce": "n5",
    "past": "1>1:c0",
    "marked_default": True,
}
"""One for each field of a branch but its name: what a stale copy may differ in."""


@pytest.fixture
def kv() -> Store:
    return open_memory("memory://")


def place(record: Record) -> Location[Any]:
    return Location(b"partition", b"key", type(record))


def tag(number: int, message: str = "") -> Tag:
    return Tag(id=TagId(f"v{number:04d}"), commit_id=CommitId("c1"), message=message)


def test_1_a_name_is_created_once(kv: Store) -> None:
    access.create(kv, WHERE, BRANCH)
    for again in (BRANCH, BRANCH.model_copy(update={"epoch": 7})):
        with pytest.raises(PredicateFailed):
            access.create(kv, WHERE, again)
        assert not access.write_if_absent(kv, WHERE, again)
    found = access.read(kv, WHERE)
    assert found is not None
    assert found.value == BRANCH


@pytest.mark.parametrize("field", CHANGES)
def test_2_and_17_deleting_needs_the_whole_record_unchanged(kv: Store, field: str) -> None:
    stale = access.create(kv, WHERE, BRANCH)
    now = access.replace(kv, WHERE, stale, BRANCH.model_copy(update={field: CHANGES[field]}))
    assert not access.remove(kv, WHERE, stale)
    assert access.read(kv, WHERE) == now
    assert access.remove(kv, WHERE, now)


@pytest.mark.parametrize("field", CHANGES)
def test_4_and_18_a_move_needs_the_whole_record_unchanged(kv: Store, field: str) -> None:
    stale = access.create(kv, WHERE, BRANCH)
    now = access.replace(kv, WHERE, stale, BRANCH.model_copy(update={field: CHANGES[field]}))
    with pytest.raises(PredicateFailed):
        access.replace(kv, WHERE, stale, BRANCH.model_copy(update={"commit_id": CommitId("c3")}))
    assert access.read(kv, WHERE) == now


def test_the_changes_cover_a_branch() -> None:
    assert set(CHANGES) | {"id"} == set(BranchRecord.model_fields)


def test_5_a_move_never_creates(kv: Store) -> None:
    held = access.create(kv, WHERE, BRANCH)
    assert access.remove(kv, WHERE, held)
    with pytest.raises(PredicateFailed):
        access.replace(kv, WHERE, held, BRANCH)
    assert access.read(kv, WHERE) is None


def test_7_a_move_to_the_same_record_succeeds(kv: Store) -> None:
    held = access.create(kv, WHERE, BRANCH)
    assert access.replace(kv, WHERE, held, BRANCH) == held
    assert access.read(kv, WHERE) == held


@pytest.mark.parametrize("asked", [0, 1, 305])
def test_8_reading_many_keeps_order_and_size(kv: Store, asked: int) -> None:
    """Absent names are None; a name that is asked for twice is answered twice."""
    for number in range(0, asked, 2):
        access.create(kv, keys.tag(REPOSITORY, tag(number).id), tag(number))
    wanted = [number * 7 % max(asked, 1) for number in range(asked)] + [0] * bool(asked)
    found = access.read_many(kv, [keys.tag(REPOSITORY, tag(number).id) for number in wanted])
    assert [held and held.value for held in found] == [None if number % 2 else tag(number) for number in wanted]


@pytest.mark.parametrize("kind", RECORDS)
def test_9_every_kind_comes_back_as_it_was(kv: Store, kind: str) -> None:
    """Created, written over, and swapped."""
    record = RECORDS[kind]
    where = place(record)
    held = access.create(kv, where, record)
    access.write(kv, where, record)
    assert access.replace(kv, where, held, record).value == record
    assert access.read(kv, where) == held


def test_9_large_and_foreign_texts_come_back(kv: Store) -> None:
    for number, message in enumerate(["", "\x00\x1f\x7f", "é😀\u2028\ufeff", '"\\', "x" * 90_000]):
        where = keys.tag(REPOSITORY, tag(number).id)
        access.create(kv, where, tag(number, message))
        found = access.read(kv, where)
        assert found is not None
        assert found.value == tag(number, message)


@pytest.mark.parametrize("asked", RECORDS)
def test_13_a_record_of_another_kind_is_no_answer(kv: Store, asked: str) -> None:
    """Kinds have keys of their own, so nobody finds one in the place of another unless a store is damaged."""
    stored = RECORDS["branch"] if isinstance(RECORDS[asked], Tag) else RECORDS["tag"]
    where = place(stored)
    access.write(kv, where, stored)
    with pytest.raises(CorruptData, match="partition/key"):
        access.read(kv, place(RECORDS[asked]))


def test_14_upserts_create_and_overwrite(kv: Store) -> None:
    """400 at once, half of them there before: read and scanned they are the new ones."""
    places = [keys.tag(REPOSITORY, tag(number).id) for number in range(400)]
    set_many(kv, [(at.partition, at.key, encode(tag(n, "old"))) for n, at in enumerate(places) if n % 2])
    set_many(kv, [(at.partition, at.key, encode(tag(n, "new"))) for n, at in enumerate(places)])
    access.write(kv, places[3], tag(3, "newer"))
    expected = [tag(number, "newer" if number == 3 else "new") for number in range(400)]
    assert [held and held.value for held in access.read_many(kv, places)] == expected
    assert [held.value for _, held in access.scan(kv, keys.tags(REPOSITORY))] == expected


def test_15_what_is_too_large_is_refused_single_and_in_bulk(kv: Store) -> None:
    where, large = keys.tag(REPOSITORY, tag(1).id), tag(1, "x" * 100_000)
    for attempt in (
        lambda: access.create(kv, where, large),
        lambda: access.write(kv, where, large),
        lambda: set_many(kv, [(where.partition, b"small", b""), (where.partition, where.key, encode(large))]),
    ):
        with pytest.raises(LimitExceeded):
            attempt()
    assert not list(kv.scan(where.partition))


def test_16_deleting_again_is_no_error_and_the_name_is_free(kv: Store) -> None:
    for _ in range(2):
        held = access.create(kv, WHERE, BRANCH)
        assert access.remove(kv, WHERE, held)
        assert not access.remove(kv, WHERE, held)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        (keys.tags(REPOSITORY), ["v0001", "v0002"]),
        (keys.tags(OTHER_REPOSITORY), ["v0003"]),
        (keys.branches(REPOSITORY), ["main"]),
        (keys.branches(OTHER_REPOSITORY), []),
        (keys.commits(REPOSITORY), []),
    ],
)
def test_19_scans_see_one_kind_of_one_repository(kv: Store, folder: Folder[Any], expected: list[str]) -> None:
    """Also of a repository that bears the name of another, created after it was deleted."""
    for number, repository in ((2, REPOSITORY), (1, REPOSITORY), (3, OTHER_REPOSITORY)):
        access.create(kv, keys.tag(repository, tag(number).id), tag(number))
    access.create(kv, WHERE, BRANCH)
    assert [name for name, _ in access.scan(kv, folder)] == expected
