"""A source that changes is refused, and a comparison says what is different on either side."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from graveler_core.committed.trees import address
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.transfer.migration.report import MigrationOutcome, Result
from tests.integration.migration.histories import History, Lake, commit_id, flights
from tests.integration.migration.runs import run, small_pages
from tests.unit.engine.interposed import Crash, Interposed

CHANGES = {
    "a commit": f"UPDATE graveler_commits SET message = 'other' WHERE id = '{commit_id(1)}'",
    "a head": f"UPDATE graveler_branches SET commit_id = '{commit_id(9)}' WHERE id = 'side'",
    "a tag": "DELETE FROM graveler_tags WHERE id = 'v1'",
    "what is staged": "DELETE FROM graveler_staging_kv WHERE identity IS NULL",
    "the repository": "UPDATE graveler_repositories SET default_branch = 'side'",
}


def refused(lake: Lake) -> MigrationOutcome:
    (outcome,) = lake.migrate().outcomes
    assert outcome.result is Result.REFUSED
    assert outcome.error is not None
    assert outcome.error.kind is Kind.StoreChanged
    return outcome


def begun(lake: Lake) -> None:
    """A run that dies in the middle."""
    kv = Interposed(lake.world.kv)
    kv.fail[14] = Crash()
    with pytest.raises(Crash):
        run(lake, kv)


def begin_again(lake: Lake) -> None:
    """What the error advises."""
    lake.graveler().delete_repository("flights")
    lake.world.clock.sleep(601)
    for _ in range(2):
        lake.graveler().clean()


@pytest.mark.parametrize("what", CHANGES)
def test_one_that_changed_between_two_runs(lake: Lake, what: str) -> None:
    flights(lake)
    with small_pages():
        begun(lake)
        lake.sql(CHANGES[what])
        assert "since its migration began" in str(refused(lake).error)
        with pytest.raises(NotFound):
            lake.graveler().repository("flights")
        begin_again(lake)
        assert lake.migrate().good
    assert lake.differences() == []


@pytest.mark.parametrize("what", CHANGES)
def test_one_that_changes_while_it_is_read(lake: Lake, what: str) -> None:
    """The run sees one state of it, and looks again before anything shows."""
    flights(lake)
    if lake.url.startswith("sqlite"):
        with closing(sqlite3.connect(lake.url.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA journal_mode=WAL")  # else writers wait for readers
    changed = list[str]()

    def change(more: int) -> None:
        if not changed:
            changed.append(what)
            lake.sql(CHANGES[what])

    with small_pages():
        (outcome,) = lake.migrate(progress=change).outcomes
    assert changed
    assert outcome.result is Result.REFUSED
    assert outcome.error is not None
    assert "the repository stays invisible" in outcome.error.message
    with pytest.raises(NotFound):
        lake.graveler().repository("flights")


@pytest.mark.parametrize("what", CHANGES)
def test_one_that_changed_after_it_was_migrated(lake: Lake, what: str) -> None:
    made = flights(lake)
    assert lake.migrate().good
    before = made.migrated().commit("main").id
    lake.sql(CHANGES[what])
    assert "since it was migrated" in str(refused(lake).error)
    assert made.migrated().commit("main").id == before
    assert lake.differences() != []


def compared(lake: Lake) -> set[str]:
    return {str(found).removeprefix("flights: ") for found in lake.graveler().compare_with(lake.url)}


def test_what_a_comparison_says(lake: Lake) -> None:
    made = flights(lake)
    assert compared(lake) == {"repository flights is missing"}
    assert lake.migrate().good
    assert compared(lake) == set()
    repo = made.migrated()
    heads = {branch.id: branch.commit_id for branch in repo.branches()}
    repo.branch("side").put("theirs", b"x")
    theirs = repo.branch("side").commit("theirs")
    repo.branch("main").remove("new")
    repo.branch("main").put("more", b"x")
    repo.delete_branch("empty")
    repo.delete_tag("v1")
    repo.create_tag("v2", "main")
    repo.create_branch("extra", "main")
    lake.world.repository("besides")
    tombstone = "staged main/new is changed"
    assert compared(lake) == {
        f"branch side is changed: head is {theirs.id}, but {heads['side']} in the source",
        f"commit {theirs.id} is surplus",
        tombstone,
        "staged main/more is surplus",
        "branch empty is missing",
        "branch extra is surplus",
        "tag v1 is missing",
        "tag v2 is surplus",
        "besides: repository besides is surplus",
    }


def test_what_changed_in_the_source(lake: Lake) -> None:
    made = flights(lake)
    assert lake.migrate().good
    made.commit(60, [2]).tag("late", 60).branch("late", 60)
    made.stage("flights-main:token", {"z": 5})
    lake.sql(f"UPDATE graveler_commits SET message = 'other' WHERE id = '{commit_id(1)}'")
    lake.sql("DELETE FROM graveler_branches WHERE id = 'side'")
    lake.sql(f"DELETE FROM graveler_commits WHERE id = '{commit_id(4)}'")
    ours = {item.origin: item.commit_id for item in lake.graveler().migrated_ids("flights")}
    assert compared(lake) == {
        f"commit {commit_id(60)} is missing",
        "tag late is missing",
        "branch late is missing",
        "staged main/z is missing",
        f"commit {commit_id(1)} is changed: message is commit 1 \N{SNOWMAN}, but other in the source",
        "branch side is surplus",
        f"commit {ours[commit_id(4)]} is surplus",
    }
    made.lake.insert("graveler_repositories", _row(made, "later"))
    assert "later: repository later is missing" in {str(found) for found in lake.graveler().compare_with(lake.url)}
    assert {found.repository for found in lake.graveler().compare_with(lake.url, ["flights"])} == {"flights"}
    with pytest.raises(InvalidInput, match="is not in the source"):
        list(lake.graveler().compare_with(lake.url, ["nobody"]))


def _row(made: History, name: str) -> dict[str, object]:
    place = made.lake.world.namespace(name)
    created = made.lake.world.clock.now() - timedelta(days=1)
    return {"id": name, "storage_namespace": place, "creation_date": created, "default_branch": "main"}


def test_trees_that_are_lost_since(small: Lake) -> None:
    """A comparison reads no tree, a verification reads all of them."""
    made = flights(small)
    assert small.migrate().good
    blobs = small.world.blobs.at(made.namespace)
    blobs.delete(address(made.tree({f"a/{number:03}": number for number in range(40)} | {"ä/\N{GRINNING FACE}": 1})))
    assert compared(small) == set()
    assert any("metarange" in found and "is missing" in found for found in small.differences())


def test_some_repositories(lake: Lake) -> None:
    made = flights(lake)
    other = lake.history("other").repository().commit(1, state={"x": 1}).branch("main", 1, {"y": 2})
    (outcome,) = lake.migrate("other").outcomes
    assert outcome.repository == "other"
    other.assert_migrated()
    with pytest.raises(InvalidInput, match="'nobody': is not in the source"):
        lake.migrate("nobody")
    with pytest.raises(InvalidInput, match="must be a collection of names"):
        lake.graveler().migrate_from(lake.url, "flights")
    for seed in (-1, 1 << 64, 0.5):
        with pytest.raises(InvalidInput, match="boundary seed"):
            lake.migrate(boundary_seed=seed)
    assert [found.result for found in lake.migrate().outcomes] == [Result.MIGRATED, Result.THERE]
    made.assert_migrated()


def test_names_and_places_that_are_taken(lake: Lake) -> None:
    """Repositories that were not migrated are never touched."""
    flights(lake)
    lake.history("inside").repository(storage_namespace=lake.world.namespace("flights") + "/inside").commit(1).branch(
        "main", 1
    )
    lake.history("other").repository().commit(1).branch("main", 1)
    lake.world.repository("other").branch("main").put("x", b"x")
    outcomes = {found.repository: found for found in lake.migrate().outcomes}
    assert outcomes["flights"].good
    kinds = {name: found.error.kind for name, found in outcomes.items() if found.error is not None}
    assert kinds == {"inside": Kind.NamespaceInUse, "other": Kind.RepositoryExists}
    assert lake.graveler().repository("other").branch("main").read("x") == b"x"
