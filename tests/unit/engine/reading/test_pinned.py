"""Pinned reads: they show what the ref showed when it was pinned, in any portions, whatever happens meanwhile."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.entry import entries
from graveler_core.committed.partitioning import Span
from graveler_core.engine.reading import pinned
from graveler_core.engine.reading.pinned import pin
from graveler_core.engine.reading.snapshot import diff, readable
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.ids import RepositoryId
from graveler_core.model.scan import Pinned
from graveler_core.stores import Stores
from tests.examples import examples
from tests.unit.engine.world import World, entry

ALL: list[Span] = [(b"", None)]


def pinned_at(stores: Stores, ref: str) -> Pinned:
    sent: Pinned = pickle.loads(pickle.dumps(pin(stores, readable(stores, RepositoryId("repo")), ref)))
    return sent


def shown(stores: Stores, at: Pinned, spans: list[Span] = ALL, rows: int = 4) -> list[Entry]:
    portions = pinned.entry_partitions(stores, at, spans, rows)
    return [
        found
        for portion in portions
        for table in pinned.entry_tables(stores, at, portion.spans)
        for found in entries(table)
    ]


def fill(repo: Repository, count: int, seed: int = 0) -> None:
    for n in range(count):
        repo.branch("main").stage(f"p/{n:03}", entry(seed + n))


@pytest.mark.parametrize("ref", ["main", "main@", "main$", "v1", "main~1", "dev"])
def test_any_ref_is_what_the_facade_shows(world: World, ref: str) -> None:
    repo = world.graveler().repository("repo")
    fill(repo, 40)
    repo.branch("main").commit("forty")
    repo.create_tag("v1", "main")
    repo.create_branch("dev", "main")
    repo.branch("main").remove("p/007")
    repo.branch("main").commit("one less")
    repo.branch("main").stage("p/100", entry(100))
    repo.branch("main").remove_prefix("p/01")
    stores = world.stores()
    wanted = list(repo.at(ref).list())
    at = pinned_at(stores, ref)
    repo.branch("main").remove_prefix("")
    repo.branch("main").commit("nothing left")
    assert shown(world.stores(), at) == wanted
    assert at.commit_id == (repo.commit("main~1").id if ref.startswith("main") and "~" not in ref else at.commit_id)


def test_a_clean_branch_writes_nothing(world: World) -> None:
    repo = world.graveler().repository("repo")
    fill(repo, 20)
    head = repo.branch("main").commit("twenty")
    stores = world.stores()
    listed = set(world.blobs.at(repo.storage_namespace).list())
    assert pinned_at(stores, "main") == pinned_at(stores, head.id)
    assert set(world.blobs.at(repo.storage_namespace).list()) == listed


def test_single_keys_are_looked_up(world: World) -> None:
    repo = world.graveler().repository("repo")
    fill(repo, 40)
    repo.branch("main").commit("forty")
    keys: list[Span] = [(f"p/{n:03}".encode(), f"p/{n:03}\0".encode()) for n in (3, 17, 39, 77)]
    found = shown(world.stores(), pinned_at(world.stores(), "main"), [(b"a", b"b"), *keys, (b"q", None)])
    assert [each.path for each in found] == ["p/003", "p/017", "p/039"]


def test_a_repository_that_was_created_anew_is_not_read(world: World) -> None:
    at = pinned_at(world.stores(), "main")
    world.graveler().delete_repository("repo")
    with pytest.raises(NotFound):
        shown(world.stores(), at)
    world.graveler().create_repository("repo", world.namespace("other"))
    with pytest.raises(NotFound, match="deleted and created again") as e:
        shown(world.stores(), at)
    assert e.value.kind is Kind.RepositoryNotFound


@settings(max_examples=examples(10))
@given(many=st.integers(1, 60), removed=st.sets(st.integers(0, 59)), rows=st.integers(1, 50))
def test_portions_of_a_difference_are_the_difference(many: int, removed: set[int], rows: int) -> None:
    world = World()
    repo = world.repository()
    fill(repo, 60)
    before = repo.branch("main").commit("before").id
    fill(repo, many, seed=1_000)
    repo.branch("main").remove_many([f"p/{n:03}" for n in removed])
    after = repo.branch("main").commit("after").id
    stores = world.stores()
    record = readable(stores, RepositoryId("repo"))
    portions = pinned.difference_partitions(stores, record, (before, after), ALL, rows)
    keys = [
        key.decode()
        for portion in portions
        for span in portion.spans
        for part in diff(stores, record, (before, after), span)
        for key in part.keys.to_pylist()
    ]
    assert keys == [change.path for change in repo.diff(before, after)]
    assert pinned.difference_partitions(stores, record, (after, after), ALL, rows) == []
