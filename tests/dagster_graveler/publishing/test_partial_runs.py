"""Runs over a part of a group: they find the branch that an earlier run kept, or begin one of their own."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.publishing import evidence
from dagster_graveler.publishing.evidence import Start
from dagster_graveler.run_tags import BRANCH_TAG, MarkedBranch, marked_branch, publish_tag
from tests.dagster_graveler.publishing import small_lake
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES, LinesIOManager, failures


def branch_of(lake: Lake, result: dg.ExecuteInProcessResult) -> str | None:
    run = lake.instance.get_run_by_id(result.run_id)
    assert run is not None
    return run.tags.get(BRANCH_TAG)


def test_one_table_after_the_other_and_then_the_publish_asset_work_on_one_branch(lake: Lake) -> None:
    results = [lake.run(table) for table in TABLES]
    assert all(result.success for result in results)
    (kept,) = lake.branches()
    assert [branch_of(lake, result) for result in results] == [kept] * 3
    assert len(lake.history()) == 1
    assert lake.run(PUBLISH).success
    assert lake.published("cleaned") == ["raw row", "cleaned row"]
    assert lake.branches() == []


def test_a_repaired_table_joins_the_kept_branch(lake: Lake) -> None:
    assert not lake.run(cleaned=["bad"]).success
    (kept,) = lake.branches()
    repaired = lake.run("cleaned")
    assert repaired.success
    assert branch_of(lake, repaired) == kept
    assert lake.run(PUBLISH).success
    assert lake.published("cleaned") == ["raw row", "cleaned row"]
    assert lake.published("weather") == ["weather row"]


def only_checks(lake: Lake, partition: str | None) -> dg.ExecuteInProcessResult:
    """Run the checks of the tables alone."""
    checks = dg.AssetSelection.checks(*(dg.AssetCheckKey(dg.AssetKey(table), "good") for table in TABLES))
    only = dg.define_asset_job("only_checks", checks, executor_def=dg.in_process_executor)
    job = dg.Definitions.merge(lake.definitions, dg.Definitions(jobs=[only])).resolve_job_def("only_checks")
    tags = {} if partition is None else {"dagster/partition": partition}
    return job.execute_in_process(instance=lake.instance, tags=tags, raise_on_error=False)


def measured(result: dg.ExecuteInProcessResult) -> set[object]:
    """Return the branches that the checks of a run have measured."""
    return {each.metadata["graveler/branch"].value for each in result.get_asset_check_evaluations()}


def test_checks_that_were_left_out_can_be_made_up_for(lake: Lake) -> None:
    assert lake.run(*TABLES, checks=False).success
    assert not lake.run(PUBLISH).success
    assert only_checks(lake, "2013-01").success
    assert lake.run(PUBLISH).success


def test_a_check_that_looked_before_the_write_does_not_count_if_its_clock_is_ahead(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of checks begin two minutes later than the other machine believes."""
    monkeypatch.setattr(evidence, "Start", lambda position, timestamp: Start(position, timestamp + 120))
    real, overtaking = LinesIOManager.lines, []

    def overtaken(self: LinesIOManager, prefix: str) -> list[str]:
        found = real(self, prefix)
        if prefix == "weather/" and not overtaking:
            overtaking.append(True)
            assert lake.run("weather", checks=False, weather=["bad"]).success
        return found

    assert lake.run(*TABLES, checks=False).success
    monkeypatch.setattr(LinesIOManager, "lines", overtaken)
    assert only_checks(lake, "2013-01").success
    (said,) = failures(lake.run(PUBLISH))
    assert "check good of weather: evaluated before the last write of the table" in said
    assert "check good of raw" not in said


def test_checks_without_partitions_measure_the_branch_of_the_newest_write(lake: Lake) -> None:
    assert lake.run(partition="2013-01").success
    assert lake.run(*TABLES, partition="2013-02", checks=False).success
    (kept,) = lake.branches()
    result = only_checks(lake, None)
    assert result.success
    assert measured(result) == {kept}
    assert lake.run(PUBLISH, partition="2013-02").success
    assert lake.published("raw", "2013-02") == ["raw row"]
    assert measured(only_checks(lake, None)) == {"main"}


def test_checks_alone_do_not_measure_an_older_branch_while_a_run_writes(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.use(partitioned=False)
    assert lake.run("raw", partition=None).success
    real, found = small_lake.rows, list[set[object]]()

    def checked_meanwhile(table: str) -> list[str]:
        if table == "cleaned":  # the run has written `raw`
            found.append(measured(only_checks(lake, None)))
        return real(table)

    monkeypatch.setattr(small_lake, "rows", checked_meanwhile)
    assert lake.run(partition=None).success
    assert found == [{"main"}]


def test_a_whole_run_begins_a_branch_of_its_own(lake: Lake) -> None:
    assert lake.run("raw", raw=["old"]).success
    (kept,) = lake.branches()
    assert lake.run().success
    assert lake.published("raw") == ["raw row"]
    assert lake.branches() == [kept]


def test_other_partitions_and_unfinished_runs_are_not_joined(lake: Lake) -> None:
    first = lake.run("raw", partition="2013-01")
    other = lake.run("raw", partition="2013-02")
    assert len(lake.branches()) == 2
    assert branch_of(lake, other) != branch_of(lake, first)


def test_a_branch_that_was_published_or_deleted_is_not_joined(lake: Lake) -> None:
    assert lake.run().success
    first = lake.run("raw", raw=["new"])
    (kept,) = lake.branches()
    assert branch_of(lake, first) == kept == f"run-{first.run_id[:13]}"
    lake.repository.delete_branch(kept)
    second = lake.run("raw", raw=["newer"])
    assert branch_of(lake, second) == f"run-{second.run_id[:13]}"


def test_the_publish_asset_alone_says_that_there_is_nothing_to_publish(lake: Lake) -> None:
    result = lake.run(PUBLISH)
    assert result.success
    assert lake.metadata()["graveler/state"] == "nothing to publish"
    assert lake.run().success
    assert lake.run(PUBLISH).success
    assert lake.metadata()["graveler/state"] == "nothing to publish"
    assert len(lake.history()) == 2


def test_a_part_is_published_if_its_checks_passed(lake: Lake) -> None:
    assert lake.run().success
    result = lake.run("raw", PUBLISH, raw=["new"])
    assert result.success
    assert lake.published("raw") == ["new"]
    assert lake.published("cleaned") == ["raw row", "cleaned row"]
    assert lake.branches() == []


def test_the_tags_of_a_run_name_its_branch(lake: Lake) -> None:
    result = lake.run("raw")
    run = lake.instance.get_run_by_id(result.run_id)
    assert run is not None
    (kept,) = lake.branches()
    assert run.tags[BRANCH_TAG] == kept
    assert run.tags["graveler/branch.lake"] == f"{kept}@{lake.repository.branch(kept).record().uid}"
    assert marked_branch(run.tags, "lake") == MarkedBranch(kept, str(lake.repository.branch(kept).record().uid))
    assert marked_branch(run.tags, "other") is None
    assert run.tags[publish_tag("lake")] == "lake/main"


def test_tags_that_were_copied_from_a_parent_do_not_name_the_branch(lake: Lake) -> None:
    """The UI copies the tags of a run that is executed again as a whole."""
    assert not lake.run(cleaned=["bad"]).success
    (kept,) = lake.branches()
    first = next(run for run in lake.instance.get_runs() if run.tags.get(BRANCH_TAG) == kept)
    result = lake.run(tags={**first.tags, "dagster/parent_run_id": first.run_id})
    assert result.success
    assert lake.published("cleaned") == ["raw row", "cleaned row"]
    assert lake.branches() == [kept]


def test_a_missing_branch_that_was_named_is_a_failure(lake: Lake) -> None:
    result = lake.run(PUBLISH, tags={"graveler/branch": "nowhere"})
    assert not result.success
    assert "branch 'nowhere' of repository 'lake' does not exist" in next(failures(result))
