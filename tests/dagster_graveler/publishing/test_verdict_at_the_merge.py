"""Nothing is published past a check, whatever is selected or clicked."""

from __future__ import annotations

import dagster as dg

from graveler_core.errors import SlowDown
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.publishing.conftest import JANUARY, Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES, failures
from tests.dagster_installation import FailOnce


def test_a_whole_run_is_published_and_says_so(lake: Lake) -> None:
    result = lake.run()
    assert result.success
    assert {table: lake.published(table) for table in TABLES} == {
        "raw": ["raw row"],
        "cleaned": ["raw row", "cleaned row"],
        "weather": ["weather row"],
    }
    assert lake.branches() == []
    shown = lake.metadata()
    assert shown["graveler/state"] == "published"
    assert shown["commit"] == lake.history()[0]
    merged = lake.repository.commit("main")
    assert merged.metadata["tables"] == "cleaned, raw, weather"
    assert merged.metadata["checks"] == "3 accepted"
    assert merged.metadata["check runs"] == result.run_id
    checked = lake.repository.checks(merged.parents[1])
    assert {name: report.passed for name, report in checked.items()} == {f"{table}/good": True for table in TABLES}


def test_a_retry_after_the_merge_shows_the_verdict_and_observes_the_tables(lake: Lake, fail_once: FailOnce) -> None:
    fail_once(Repository, "merge", SlowDown("busy, and yet it was done"), after=True)
    assert lake.run().success
    shown = lake.metadata()
    assert shown["graveler/state"] == "published"
    assert "Changed tables: cleaned, raw, weather." in shown["verdict"]
    for table in TABLES:
        (record,) = lake.instance.fetch_observations(dg.AssetKey(table), limit=1).records
        assert record.asset_observation is not None
        assert record.asset_observation.metadata["commit"].value == lake.history()[0]


def test_a_refused_batch_cannot_be_published_by_running_the_publish_asset(lake: Lake) -> None:
    assert not lake.run(cleaned=["bad"]).success
    (kept,) = lake.branches()
    before = lake.history()
    for tags in ({"graveler/branch": kept}, {}):
        result = lake.run(PUBLISH, tags=tags)
        assert not result.success
        (said,) = failures(result)
        assert said.startswith(f"kept: branch '{kept}' is not published.")
        assert "check good of cleaned: failed (run " in said
        assert "graveler branch delete graveler://lake/" in said
        assert lake.history() == before
        assert lake.branches() == [kept]


def test_a_chain_of_runs_on_a_named_branch_is_not_published_if_one_failed(lake: Lake) -> None:
    work = {"graveler/branch": "work"}
    assert not lake.run("raw", tags=work, raw=["bad"]).success
    assert not lake.run("cleaned", tags=work).success
    assert lake.run("weather", tags=work).success
    result = lake.run(PUBLISH, tags=work)
    assert not result.success
    (said,) = failures(result)
    assert "check good of raw: failed" in said
    assert "check good of cleaned: failed" in said
    assert len(lake.history()) == 1


def test_a_failed_check_of_a_sibling_holds_the_publish_asset_back(lake: Lake) -> None:
    result = lake.run(weather=["bad"])
    assert not result.success
    started = [e.step_key for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_START]
    assert not any("lake__main" in str(step) for step in started)
    assert len(lake.history()) == 1
    assert len(lake.branches()) == 1


def test_a_run_without_checks_is_not_published(lake: Lake) -> None:
    result = lake.run(checks=False)
    assert not result.success
    (said,) = failures(result)
    for table in TABLES:
        assert f"check good of {table}: not evaluated" in said
    assert len(lake.history()) == 1


def test_a_warning_refuses_unless_it_is_allowed(lake: Lake, monkeypatch: object) -> None:
    from tests.dagster_graveler.publishing import small_lake

    small_lake.SEVERITY["cleaned"] = dg.AssetCheckSeverity.WARN
    try:
        result = lake.run(cleaned=["bad"])
        assert not result.success
        (said,) = failures(result)
        assert "check good of cleaned: failed with severity WARN" in said
        assert len(lake.history()) == 1
        lake.use(warn="allow")
        assert lake.run(cleaned=["bad"]).success
        assert lake.published("cleaned") == ["raw row", "bad"]
    finally:
        small_lake.SEVERITY["cleaned"] = dg.AssetCheckSeverity.ERROR


def test_a_change_after_the_check_is_refused(lake: Lake) -> None:
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    lake.repository.branch("work").put(f"raw/{JANUARY}/more.txt", b"unchecked")
    result = lake.run(PUBLISH, tags=work)
    assert not result.success
    (said,) = failures(result)
    assert "table raw was changed outside Dagster after its last materialization" in said
    assert len(lake.history()) == 1


def test_a_changed_path_that_belongs_to_no_table_is_refused(lake: Lake) -> None:
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    lake.repository.branch("work").put("rawest/x", b"1")
    result = lake.run(PUBLISH, tags=work)
    (said,) = failures(result)
    assert "path 'rawest/x' was changed and belongs to no table of the group" in said
    assert len(lake.history()) == 1


def test_a_table_that_was_written_again_must_be_checked_again(lake: Lake) -> None:
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    assert lake.run("raw", tags=work, raw=["bad"], checks=False).success
    result = lake.run(PUBLISH, tags=work)
    (said,) = failures(result)
    assert "check good of raw: evaluated before the last write of the table" in said
    assert len(lake.history()) == 1


def test_a_name_that_is_used_again_inherits_nothing(lake: Lake) -> None:
    work = {"graveler/branch": "work"}
    assert lake.run(*TABLES, tags=work).success
    head = lake.repository.branch("work")
    content = {entry.path: head.read(entry.path) for entry in head.list()}
    lake.repository.delete_branch("work")
    again = lake.repository.create_branch("work", source="main")
    for path, data in content.items():
        again.put(path, data)
    result = lake.run(PUBLISH, tags=work)
    assert not result.success
    (said,) = failures(result)
    assert "table raw was changed, but no run materialized it on this branch" in said


def test_the_target_itself_is_not_a_branch_to_publish(lake: Lake) -> None:
    assert lake.run().success
    lake.repository.branch("main").put(f"raw/{JANUARY}/more.txt", b"unchecked")
    before = lake.history()
    result = lake.run(PUBLISH, tags={"graveler/branch": "main"})
    assert not result.success
    assert "the run works on 'main' itself" in next(failures(result))
    assert lake.history() == before


def test_tables_are_not_written_on_the_target_itself(lake: Lake) -> None:
    assert lake.run().success
    result = lake.run(tags={"graveler/branch": "main"}, raw=["unchecked"])
    assert not result.success
    assert all("the run works on 'main' itself" in said for said in failures(result))
    assert list(lake.repository.branch("main").uncommitted()) == []
    assert lake.run(raw=["new"]).success
    assert lake.published("raw") == ["new"]


def test_a_template_that_names_the_target_writes_no_table(lake: Lake) -> None:
    assert lake.run().success
    lake.use(template="main")
    result = lake.run(raw=["bad"])
    assert not result.success
    assert all("'main' itself" in said and "the template 'main' must give" in said for said in failures(result))
    assert list(lake.repository.branch("main").uncommitted()) == []


def test_required_checks_are_reported_before_the_merge(lake: Lake) -> None:
    lake.use(require=True)
    assert lake.run().success
    names = tuple(f"{table}/good" for table in sorted(TABLES))
    assert lake.repository.required_checks() == {"main": names}
    assert lake.run("raw", PUBLISH, raw=["another"]).success
    assert lake.published("raw") == ["another"]
    reported = lake.repository.checks(lake.repository.commit("main").parents[1])
    assert reported["weather/good"].message == "table at path weather is unchanged"
