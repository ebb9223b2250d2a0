"""Commits compared by what the commits between them changed: as by their indexes, and at the cost of the changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.blobs.foreign import ForeignFiles
from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.engine.reading import changed_keys as chain
from graveler_core.engine.reading import snapshot
from graveler_core.engine.reading.changed_keys import changed_keys
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Conflict, NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.model.address import Namespace
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.examples import examples
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["main", "side"]),
        st.one_of(
            st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 2), min_size=1, max_size=4),
            st.just("merge"),
            st.just("many"),
        ),
    ),
    min_size=2,
    max_size=9,
)


@dataclass(frozen=True)
class OneNamespace:
    """An object store of which all is in one namespace."""

    blobs: Blobs

    def at(self, namespace: str) -> Blobs:
        return self.blobs

    def foreign(self, place: Namespace) -> Foreign:
        return ForeignFiles(place)

    def close(self) -> None:
        """Nothing is its own."""


def history(repo: Repository, steps: list[tuple[str, object]]) -> list[str]:
    """Commits on two branches, and merges between them; gives the ids of all commits."""
    repo.create_branch("side", "main")
    for number, (name, step) in enumerate(steps):
        branch = repo.branch(name)
        try:
            if isinstance(step, dict):
                for path, value in step.items():
                    branch.remove(path) if value is None else branch.stage(path, entry(value))
                branch.commit(str(number))
            elif step == "many":
                branch.stage_many(table({f"many/{n}": n + number for n in range(30)}))
                branch.commit(str(number))
            else:
                other = "side" if name == "main" else "main"
                repo.merge(other, into=name, strategy="source", message=str(number))
        except (NoChanges, Conflict):
            continue
    return sorted({commit.id for name in ("main", "side") for commit in repo.log(name)})


def compared(stores: Stores, repo: Repository, one: StoredCommit, other: StoredCommit) -> list[dict[str, object]]:
    """The differences, by the indexes alone."""
    found = diff(stores.indexes(repo._record), one.layout.index, other.layout.index)
    return [row for page in found for row in as_changes(page).to_pylist()]


@settings(max_examples=examples(10))
@given(STEPS)
def test_as_by_the_indexes(steps: list[tuple[str, object]]) -> None:
    """Every pair of six commits, both ways round; what the operations do not tell of is equal."""
    world = World()
    repo = world.repository()
    ids = history(repo, steps)
    stores = world.stores()
    commits = [commit_of(stores, repo._record, CommitId(id)) for id in ids[:6]]
    for one in commits:
        for other in commits:
            known = changed_keys(stores, repo._record, one, other)
            expected = compared(stores, repo, one, other)
            found = snapshot.diff(stores, repo._record, (one.id, other.id), (b"", None))
            rows = [row for page in found for row in as_changes(page).to_pylist()]
            assert rows == expected
            assert known is None or {row[KEY] for row in rows} <= set(known)


def line(repo: Repository, count: int, start: int = 0) -> list[str]:
    """Commits of one entry each; the whole log, the newest first."""
    main = repo.branch("main")
    for number in range(start, start + count):
        main.stage(f"k{number:03}", entry(number))
        main.commit(str(number))
    return [commit.id for commit in repo.log("main")]


def stored(stores: Stores, repo: Repository, *ids: str) -> list[StoredCommit]:
    return [commit_of(stores, repo._record, CommitId(id)) for id in ids]


def test_neighbours_across_a_fold_cost_what_they_changed() -> None:
    """The metaranges differ at many keys, of which no range is read."""
    world = World()
    repo = world.repository()
    line(repo, 40)
    ids = [commit.id for commit in repo.log("main")]
    stores = world.stores()
    commits = stored(stores, repo, *ids)
    apart = [
        (newer, older)
        for newer, older in pairwise(commits)
        if newer.layout.index.metarange_id != older.layout.index.metarange_id
    ]
    assert apart
    known = {newer.header.message: changed_keys(stores, repo._record, older, newer) for newer, older in apart}
    told = {message: found for message, found in known.items() if found is not None}
    assert told == {message: [f"k{int(message):03}".encode()] for message in told}
    assert len(told) > 0


def test_what_a_few_commits_changed_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    repo = world.repository()
    ids = line(repo, 6)
    stores = world.stores()
    newest, *_, older = stored(stores, repo, *ids[:4])
    assert changed_keys(stores, repo._record, older, newest) == [b"k003", b"k004", b"k005"]
    assert changed_keys(stores, repo._record, newest, older) == [b"k003", b"k004", b"k005"]
    assert changed_keys(stores, repo._record, newest, newest) == []
    monkeypatch.setattr(chain, "_MOST_COMMITS", 3)
    assert changed_keys(stores, repo._record, older, newest) is None
    monkeypatch.setattr(chain, "_MOST_COMMITS", 64)
    monkeypatch.setattr(chain, "_MOST_KEYS", 2)
    assert changed_keys(stores, repo._record, older, newest) is None


def test_branches_apart_are_told_by_their_indexes() -> None:
    world = World()
    repo = world.repository()
    line(repo, 2)
    side = repo.create_branch("side", "main")
    side.stage("s", entry(1))
    theirs = side.commit("side").id
    ours = line(repo, 3, start=2)[0]
    stores = world.stores()
    assert changed_keys(stores, repo._record, *stored(stores, repo, theirs, ours)) is None


def test_a_missing_commit_between_is_no_hindrance() -> None:
    """The indexes of both ends are whole."""
    world = World()
    repo = world.repository()
    ids = line(repo, 5)
    where = keys.commit(repo._record, CommitId(ids[2]))
    world.kv.delete(where.partition, where.key)
    stores = world.stores()
    assert changed_keys(stores, repo._record, *stored(stores, repo, ids[0], ids[4])) is None
    assert [change.path for change in repo.diff(ids[4], ids[0])] == ["k001", "k002", "k003", "k004"]


def test_a_diff_of_neighbours_reads_no_range_of_theirs() -> None:
    world = World()
    repo = world.repository()
    main = repo.branch("main")
    main.stage_many(table({f"k{n:03}": n for n in range(300)}))
    main.commit("many")
    main.stage("new", entry(1))
    main.commit("one")
    counted = CountingBlobs(world.blobs.at(repo.storage_namespace))
    stores = replace(world.stores(), blobs=OneNamespace(counted), ranges=TreeCache())
    older, newer = (repo.commit(ref).id for ref in ("main~1", "main"))
    found = list(snapshot.diff(stores, repo._record, (CommitId(older), CommitId(newer)), (b"", None)))
    assert [page.keys.to_pylist() for page in found] == [[b"new"]]
    assert counted.calls["read"] <= 4  # down to the range where it would lie
