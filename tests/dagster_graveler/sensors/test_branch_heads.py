"""The sensor of a repository's branches: what it reports, what it knows, which partitions there are."""

from __future__ import annotations

import json
from itertools import count
from threading import Event
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.assets.branches import make_branches_asset
from dagster_graveler.data_version import observed_commits, reported_commit
from dagster_graveler.display.show import Show
from dagster_graveler.sensors import branch_heads, tick_time
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor
from graveler_core.errors import CorruptData, GravelerError, Kind, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from tests.dagster_graveler.sensors.conftest import Evaluate

MAIN = dg.AssetKey(["lake", "main"])
BRANCHES = make_branches_asset("lake")
SENSOR = make_branch_heads_sensor(BRANCHES, repository="lake", published={"main": MAIN})
PARTITIONS = "lake/branches"
NOWHERE = [json.dumps({"version": 2, "after": after}) for after in ("\0", "x" * 2_000)]


@pytest.fixture
def lake(store: Graveler) -> Repository:
    return store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)


def observed(instance: dg.DagsterInstance, *branches: str) -> dict[str, str]:
    return observed_commits(instance, BRANCHES.key, branches)


def test_a_repository_that_does_not_exist_yet_is_skipped(tick: Evaluate) -> None:
    answer = tick(SENSOR)
    assert not answer.events
    assert answer.skipped == "repository lake does not exist yet"


def test_a_commit_from_elsewhere_is_reported_once(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    first = tick(SENSOR)
    main = lake.branch("main")
    main.put("a", b"1")
    commit = main.commit("by *hand*", committer="ann")

    second = tick(SENSOR, first.cursor)
    seen, made = second.events
    assert (type(seen), type(made)) == (dg.AssetObservation, dg.AssetMaterialization)
    assert (seen.asset_key, seen.partition, made.asset_key) == (BRANCHES.key, "main", MAIN)
    for event in (seen, made):
        assert event.tags == {"dagster/data_version": commit.id}
        assert event.description == "by *hand*"
        assert event.metadata["committer"].value == "ann"
        assert event.metadata["dagster/uri"].value == "graveler://lake/main"
    assert reported_commit(instance, MAIN) == commit.id
    assert observed(instance, "main") == {"main": commit.id}

    third = tick(SENSOR, second.cursor)
    assert not third.events
    assert third.skipped == "none of 1 branch of lake has changed"


def test_a_report_of_a_published_branch_shows_what_changed_since_the_last_one(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    """With what the pipeline shows of it, even if several commits were made between two ticks."""
    shown = make_branch_heads_sensor(
        BRANCHES, repository="lake", published={"main": MAIN}, show=lambda at: {"files": len([*at.list()])}
    )
    first, main = tick(shown), lake.branch("main")
    assert "changes" not in first.events[-1].metadata  # nothing to compare with
    for path in ("t/a", "t/b"):
        main.put(path, b"1")
        main.commit(path)
    made = tick(shown, first.cursor).events[-1]
    assert made.asset_key == MAIN
    assert (made.metadata["changes"].value, made.metadata["files"].value) == (2, 2)
    assert "| t | 2 | 0 | 0 |" in made.metadata["diff summary"].value


@pytest.mark.parametrize("method", ["commit", "diff"])
def test_a_branch_is_reported_although_the_commit_of_the_last_report_is_damaged(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    tick(SENSOR)
    main = lake.branch("main")
    before = main.record().commit_id
    main.put("a", b"1")
    after = main.commit("after").id
    real = getattr(Repository, method)

    def damaged(repository: Repository, ref: str, *others: str) -> Any:
        if ref == before:
            raise CorruptData("damaged")
        return real(repository, ref, *others)

    monkeypatch.setattr(Repository, method, damaged)
    made = tick(SENSOR).events[-1]
    assert (made.asset_key, reported_commit(instance, MAIN)) == (MAIN, after)
    assert not tick(SENSOR).events


def fails(at: Snapshot) -> dict[str, Any]:
    raise KeyError("delay")


def test_a_function_of_the_pipeline_that_fails_costs_only_what_it_shows(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    """Even an error that would mean something else if graveler raised it."""
    failing = make_branch_heads_sensor(BRANCHES, repository="lake", published={"main": MAIN}, show=fails)
    first, main = tick(failing), lake.branch("main")
    main.put("t/a", b"1")
    commit = main.commit("a file")
    seen, made = tick(failing, first.cursor).events
    assert (seen.asset_key, made.asset_key) == (BRANCHES.key, MAIN)
    assert made.metadata["changes"].value == 1
    told = made.metadata["plot failed"].value
    assert told == "There is no plot, because the function fails failed with KeyError: 'delay'."
    assert reported_commit(instance, MAIN) == commit.id


@pytest.mark.parametrize(
    ("show", "told"),
    [
        (lambda at: at.read("gone"), "NotFound: "),
        (lambda at: {"plot": object()}, "DagsterInvalidMetadata: "),
        (lambda at: ["plot"], "ParameterCheckError: "),
        (lambda at: int("no\nnumber " * 1_000), "ValueError: invalid literal"),
    ],
    ids=["not-found", "no-metadata", "no-mapping", "long"],
)
def test_what_a_function_of_the_pipeline_does_wrong_is_told_in_one_sentence(
    tick: Evaluate, lake: Repository, show: Show, told: str
) -> None:
    failing = make_branch_heads_sensor(BRANCHES, repository="lake", published={"main": MAIN}, show=show)
    made = tick(failing).events[-1]
    assert made.asset_key == MAIN
    sentence = made.metadata["plot failed"].value
    assert f"failed with {told}" in sentence
    assert len(sentence) < 700
    assert "\n" not in sentence


def test_what_a_run_has_reported_is_only_observed(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    head = lake.at("main").commit_id
    instance.report_runless_asset_event(dg.AssetMaterialization(MAIN, tags={"dagster/data_version": head}))
    (event,) = tick(SENSOR).events
    assert isinstance(event, dg.AssetObservation)


def test_a_late_report_of_an_older_commit_is_put_right(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    tick(SENSOR)
    head = reported_commit(instance, MAIN)
    instance.report_runless_asset_event(dg.AssetMaterialization(MAIN, tags={"dagster/data_version": "older"}))
    tick(SENSOR)
    assert reported_commit(instance, MAIN) == head


def test_a_function_of_the_pipeline_that_takes_too_long_costs_only_what_it_shows(
    tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_heads, "_SHOW_SECONDS", 0.0)
    is_over = Event()

    def plot(at: Snapshot) -> dict[str, Any]:
        is_over.wait()
        return {}

    sensor = make_branch_heads_sensor(BRANCHES, repository="lake", published={"main": MAIN}, show=plot)
    made = tick(sensor).events[-1]
    is_over.set()
    assert made.asset_key == MAIN
    assert "the function plot failed with TimeoutError: it took longer than 0 seconds" in str(made.metadata)


def test_a_tick_stops_in_time_and_the_next_one_goes_on(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count(step=20)  # seconds at each look at the clock
    monkeypatch.setattr(tick_time, "monotonic", lambda: float(next(looks)))
    for name in ("a", "b", "c"):
        lake.create_branch(name, source="main")
    first = tick(SENSOR)
    assert set(instance.get_dynamic_partitions(PARTITIONS)) == {"a", "b"}
    assert json.loads(first.cursor or "") == {"version": 2, "after": "b"}
    second = tick(SENSOR, first.cursor)
    assert set(observed(instance, "a", "b", "c", "main")) == {"a", "b", "c", "main"}
    assert json.loads(second.cursor or "") == {"version": 2, "after": ""}


@pytest.mark.parametrize("error", [CorruptData("damaged"), NotFound("lost", kind=Kind.RefNotFound)], ids=str)
def test_a_commit_that_cannot_be_read_does_not_concern_other_branches(
    tick: Evaluate,
    instance: dg.DagsterInstance,
    lake: Repository,
    monkeypatch: pytest.MonkeyPatch,
    error: GravelerError,
) -> None:
    lake.create_branch("a", source="main").put("x", b"1")
    damaged = lake.branch("a").commit("damaged")
    real = Repository.commit

    def commit(repository: Repository, ref: str) -> Any:
        if ref == damaged.id:
            raise error
        return real(repository, ref)

    monkeypatch.setattr(Repository, "commit", commit)
    answer = tick(SENSOR)
    assert set(observed(instance, "a", "main")) == {"main"}
    assert json.loads(answer.cursor or "") == {"version": 2, "after": ""}


def test_a_damaged_record_does_not_concern_other_branches(
    tick: Evaluate, instance: dg.DagsterInstance, store: Graveler, lake: Repository
) -> None:
    lake.create_branch("a", source="main")
    where = keys.branch(lake._record, BranchId("a"))
    store._stores.kv.set(where.partition, where.key, b"damaged")
    answer = tick(SENSOR)
    assert set(observed(instance, "a", "main")) == {"main"}
    assert json.loads(answer.cursor or "") == {"version": 2, "after": ""}


def test_the_partition_of_a_damaged_record_stays(
    tick: Evaluate, instance: dg.DagsterInstance, store: Graveler, lake: Repository
) -> None:
    for name in ("a", "b"):
        lake.create_branch(name, source="main")
    tick(SENSOR)
    where = keys.branch(lake._record, BranchId("a"))
    store._stores.kv.set(where.partition, where.key, b"damaged")
    lake.delete_branch("b")
    tick(SENSOR)
    assert set(instance.get_dynamic_partitions(PARTITIONS)) == {"main", "a"}


def test_partitions_follow_the_branches(
    tick: Evaluate, instance: dg.DagsterInstance, store: Graveler, lake: Repository
) -> None:
    lake.create_branch("dev", source="main")
    tick(SENSOR)
    assert set(instance.get_dynamic_partitions(PARTITIONS)) == {"main", "dev"}
    lake.delete_branch("dev")
    lake.create_branch("v1.0-rc_2", source="main")
    answer = tick(SENSOR)
    assert len(answer.partitions) == 2
    assert set(instance.get_dynamic_partitions(PARTITIONS)) == {"main", "v1.0-rc_2"}
    store.delete_repository("lake")
    tick(SENSOR)
    assert not instance.get_dynamic_partitions(PARTITIONS)


def test_many_branches_take_several_ticks(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_heads, "PAGE", 2)
    names = ["a", "b", "c", "d"]
    for name in names:
        lake.create_branch(name, source="main")
    instance.add_dynamic_partitions(PARTITIONS, ["bb", "zz"])  # of branches that are gone
    cursor, partitions = None, []
    for _ in range(3):
        answer = tick(SENSOR, cursor)
        cursor = answer.cursor
        partitions.append(sorted(instance.get_dynamic_partitions(PARTITIONS)))
    assert partitions == [["a", "b", "bb", "zz"], ["a", "b", "c", "d", "zz"], ["a", "b", "c", "d", "main"]]
    assert set(observed(instance, *names, "main")) == {*names, "main"}
    assert json.loads(cursor or "") == {"version": 2, "after": ""}


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created-anew"])
def test_a_repository_that_is_deleted_during_a_tick_is_left_to_the_next_one(
    tick: Evaluate, store: Graveler, lake: Repository, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    real = Repository.commit

    def too_late(repository: Repository, ref: str) -> Any:
        monkeypatch.undo()
        store.delete_repository("lake")
        if again:
            store.create_repository("lake", "memory://new", adopt=True, ephemeral=True)
        return real(repository, ref)

    monkeypatch.setattr(Repository, "commit", too_late)
    cursor = '{"version":2,"after":"a"}'
    answer = tick(SENSOR, cursor)
    assert (answer.skipped, answer.events, answer.partitions) == ("repository lake was deleted during the tick", [], [])
    assert answer.cursor == cursor
    assert len(tick(SENSOR, cursor).events) == (2 if again else 0)


@pytest.mark.parametrize("cursor", [None, "", "rubbish", '{"version": 1, "commit": "x"}', *NOWHERE])
def test_an_unknown_cursor_is_begun_anew(tick: Evaluate, lake: Repository, cursor: str | None) -> None:
    assert len(tick(SENSOR, cursor).events) == 2


def test_branch_names_are_partition_keys_as_they_are(tick: Evaluate, lake: Repository) -> None:
    longest = "x" * 255
    for name in ("0", "_a.b-c", longest):
        lake.create_branch(name, source="main")
    (request,) = tick(SENSOR).partitions
    assert request.partition_keys == ["0", "_a.b-c", "main", longest]
    static = dg.StaticPartitionsDefinition(list(request.partition_keys))  # refuses what the rest of Dagster minds
    assert static.get_partition_keys() == request.partition_keys


def test_partitions_must_be_dynamic() -> None:
    with pytest.raises(ValueError, match="lake/branches"):
        make_branch_heads_sensor(dg.AssetSpec(["lake", "branches"]), repository="lake")


def test_the_name_is_one_that_dagster_accepts() -> None:
    sensor = make_branch_heads_sensor(make_branches_asset("my-lake"), repository="my-lake", resource_key="other")
    assert sensor.name == "my_lake_branches_moved"
    assert "other" in sensor.required_resource_keys
