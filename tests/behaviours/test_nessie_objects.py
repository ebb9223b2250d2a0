"""Nessie's behaviours of stored objects (8-12, 16, 19), as they hold for commits.

Left out: the answers new or not (10, 11: an id is written only by who builds the commit, without asking), null inputs
and the all-zero id (11, 12: the types exclude them, a root has no parents), upserts and conditional updates of objects
(14, 17, 18: commits do not change; for layouts, which do, see the behaviours of records), the referenced timestamp
(10, 20: blobs carry it, see `BlobStore.renew`; commits are kept by reachability).
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graveler_core.errors import Kind, LimitExceeded, NotFound
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.bulk import drop_partition, set_many
from graveler_core.kv.store import Store
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.objects.commits import CommitCache, StoredCommit, prepare, read_commit, read_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.records.samples import RECORDS, REPOSITORY

LAYOUT = Layout(index=Index(metarange_id=MetarangeId("11" * 32)))


@pytest.fixture
def kv() -> Store:
    return open_memory("memory://")


def commit(message: str) -> Commit:
    header = RECORDS["commit"].model_copy(update={"message": message})
    assert isinstance(header, Commit)
    return header


def store(kv: Store, messages: Sequence[str]) -> list[StoredCommit]:
    prepared = [prepare(REPOSITORY, commit(message), LAYOUT) for message in messages]
    set_many(kv, [write for _, writes in prepared for write in writes])
    return [made for made, _ in prepared]


def read(kv: Store, wanted: Sequence[CommitId]) -> list[StoredCommit]:
    return read_commits(kv, CommitCache(), REPOSITORY, wanted)


@pytest.mark.parametrize("message", ["", "é😀\u2028", "\x00", "x" * 30_000])
def test_9_a_commit_comes_back_as_it_was(kv: Store, message: str) -> None:
    [made] = store(kv, [message])
    assert read_commit(kv, CommitCache(), REPOSITORY, made.id) == made
    assert made.header == commit(message)


def test_10_storing_again_leaves_it_readable_and_equal(kv: Store) -> None:
    first, again = store(kv, ["same"]), store(kv, ["same"])
    assert first == again == read(kv, [first[0].id])


@pytest.mark.parametrize("asked", [0, 1, 305])
def test_8_and_11_reading_many_keeps_order_and_size(kv: Store, asked: int) -> None:
    made = store(kv, [f"{number}" for number in range(asked)])
    wanted = [*reversed(made), *made[:1]]
    assert read(kv, [each.id for each in wanted]) == wanted


def test_12_the_error_names_exactly_what_is_missing(kv: Store) -> None:
    made = store(kv, ["a", "b"])
    absent = [CommitId("0" * 64), CommitId("f" * 64)]
    with pytest.raises(NotFound, match=r"0{64}, f{64}") as caught:
        read(kv, [made[0].id, absent[0], made[1].id, absent[1], absent[0]])
    assert caught.value.kind is Kind.CommitNotFound
    assert caught.value.details["commits"] == absent
    assert access.read(kv, keys.commit(REPOSITORY, absent[0])) is None


def test_15_a_commit_that_is_too_large_is_refused_and_nothing_of_it_is_stored(kv: Store) -> None:
    with pytest.raises(LimitExceeded):
        store(kv, ["small", "x" * 100_000])
    assert not list(kv.scan(keys.partition(REPOSITORY)))


def test_16_after_deletion_it_can_be_stored_as_new(kv: Store) -> None:
    [made] = store(kv, ["a"])
    for expected in (2, 0):
        assert drop_partition(kv, keys.partition(REPOSITORY)) == expected
    with pytest.raises(NotFound):
        read(kv, [made.id])
    assert store(kv, ["a"]) == read(kv, [made.id])


def test_19_another_repository_of_the_name_sees_nothing(kv: Store) -> None:
    [made] = store(kv, ["a"])
    other = REPOSITORY.model_copy(update={"uid": RepositoryUid("u2")})
    assert [name for name, _ in access.scan(kv, keys.commits(REPOSITORY))] == [made.id]
    assert not list(access.scan(kv, keys.commits(other)))
    with pytest.raises(NotFound):
        read_commit(kv, CommitCache(), other, made.id)
