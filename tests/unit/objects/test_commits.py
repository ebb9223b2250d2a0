"""Commits as objects: what an id proves, and what is read how often."""

from __future__ import annotations

import pytest

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.bulk import set_many
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.objects.commits import CommitCache, StoredCommit, prepare, read_commit, read_commits
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.records.samples import RECORDS, REPOSITORY


@pytest.fixture
def kv() -> Interposed:
    return Interposed(open_memory("memory://"))


def stored(kv: Interposed, number: int) -> StoredCommit:
    header = RECORDS["commit"].model_copy(update={"message": str(number)})
    assert isinstance(header, Commit)
    commit, writes = prepare(REPOSITORY, header, Layout(index=Index(metarange_id=MetarangeId(f"{number:064x}"))))
    set_many(kv.inner, writes)
    return commit


def test_what_was_stored_is_read(kv: Interposed) -> None:
    commits = [stored(kv, number) for number in range(3)]
    wanted = [commits[2], commits[0], commits[2], commits[1]]
    assert read_commits(kv, CommitCache(), REPOSITORY, [c.id for c in wanted]) == wanted
    assert kv.verbs == ["get_many"]


def test_a_second_reading_costs_nothing(kv: Interposed) -> None:
    commit = stored(kv, 1)
    cache = CommitCache()
    for _ in range(3):
        assert read_commit(kv, cache, REPOSITORY, commit.id) == commit
    assert kv.verbs == ["get_many"]


def test_a_cache_of_one_repository_serves_no_other(kv: Interposed) -> None:
    commit = stored(kv, 1)
    cache = CommitCache()
    read_commit(kv, cache, REPOSITORY, commit.id)
    with pytest.raises(NotFound):
        read_commit(kv, cache, REPOSITORY.model_copy(update={"uid": "u2"}), commit.id)


def test_a_cache_is_bounded(kv: Interposed) -> None:
    cache = CommitCache(capacity=2)
    commits = [stored(kv, number) for number in range(3)]
    for commit in (commits[0], commits[1], commits[0], commits[2]):
        read_commit(kv, cache, REPOSITORY, commit.id)
    partition = keys.partition(REPOSITORY)
    assert [cache.get(partition, commit.id) is not None for commit in commits] == [True, False, True]


def test_what_does_not_exist(kv: Interposed) -> None:
    with pytest.raises(NotFound) as caught:
        read_commit(kv, CommitCache(), REPOSITORY, CommitId("0" * 64))
    assert caught.value.kind is Kind.CommitNotFound


@pytest.mark.parametrize("damage", ["another header", "cut header", "no layout", "cut layout"])
def test_damage_is_named(kv: Interposed, damage: str) -> None:
    commit = stored(kv, 1)
    header, layout = keys.commit(REPOSITORY, commit.id), keys.commit_layout(REPOSITORY, commit.id)
    if damage == "another header":
        kv.set(header.partition, header.key, encode(stored(kv, 2).header))
    elif damage == "cut header":
        kv.set(header.partition, header.key, encode(commit.header)[:-1])
    elif damage == "no layout":
        kv.delete(layout.partition, layout.key)
    else:
        kv.set(layout.partition, layout.key, encode(commit.layout)[:-1])
    with pytest.raises(CorruptData, match=commit.id):
        read_commit(kv, CommitCache(), REPOSITORY, commit.id)


def test_a_copy_is_good_for_an_hour(kv: Interposed) -> None:
    """A layout may have been replaced since, and what the old one named be gone."""
    now = [0.0]
    cache = CommitCache(now=lambda: now[0])
    commit = stored(kv, 1)
    for at, reads in [(0.0, 1), (3_599.0, 1), (3_600.0, 2), (7_199.0, 2), (7_000.0, 2), (3_000.0, 3)]:
        now[0] = at
        assert read_commit(kv, cache, REPOSITORY, commit.id) == commit
        assert len(kv.verbs) == reads, at
