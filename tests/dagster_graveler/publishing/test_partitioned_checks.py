"""Checks with partitions: a branch that several runs wrote is published if each written partition passed."""

from typing import Any

import dagster as dg
import pytest

from dagster_graveler import write_audit_publish
from dagster_graveler.testing import EphemeralLake
from tests.dagster_graveler.publishing.small_lake import MONTHS, PUBLISH, PUBLISHED, failures

pytestmark = pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec")
ROWS: dict[str, str] = {}
"""Content by partition."""
ON_ONE_BRANCH = {"graveler/branch": "all"}


class Months:
    """The table `raw`, whose check looks only at the partition of the run."""

    def __init__(self, lake: EphemeralLake, severity: dg.AssetCheckSeverity, **options: Any) -> None:
        @dg.asset(partitions_def=MONTHS, group_name="months")
        def raw(context: dg.AssetExecutionContext) -> str:
            return ROWS.get(context.partition_key, "good")

        @dg.asset_check(asset=raw, blocking=True, partitions_def=MONTHS)
        def good(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
            return dg.AssetCheckResult(passed=ROWS.get(context.partition_key) != "bad", severity=severity)

        made = write_audit_publish(tables=[raw], checks=[good], key=PUBLISHED, **options)
        jobs = [
            dg.define_asset_job("write", dg.AssetSelection.assets(raw.key)),
            dg.define_asset_job("write_alone", dg.AssetSelection.assets(raw.key).without_checks()),
            dg.define_asset_job("check", dg.AssetSelection.checks(*good.check_keys)),
            dg.define_asset_job("publish", [PUBLISH]),
        ]
        more = dg.Definitions(jobs=jobs, resources=lake.resources, executor=dg.in_process_executor)
        self._definitions, self._lake = dg.Definitions.merge(made, more), lake

    def run(self, job: str, month: str) -> dg.ExecuteInProcessResult:
        tags = {**ON_ONE_BRANCH, "dagster/partition": month}  # Dagster refuses `partition_key` for checks alone
        return self._definitions.resolve_job_def(job).execute_in_process(
            instance=self._lake.instance, tags=tags, raise_on_error=False
        )

    def published(self) -> list[str]:
        return [entry.path for entry in self._lake.repository.at("main").list()]


@pytest.fixture(autouse=True)
def rows() -> None:
    ROWS.clear()


def test_a_failed_partition_is_not_hidden_by_another_one(graveler_lake: EphemeralLake) -> None:
    months = Months(graveler_lake, dg.AssetCheckSeverity.ERROR)
    ROWS["2013-01"] = "bad"
    assert not months.run("write", "2013-01").success
    assert months.run("write", "2013-02").success
    (said,) = failures(months.run("publish", "2013-02"))
    assert "check good of raw, partition 2013-01: failed (run " in said
    assert months.published() == []

    ROWS.clear()
    assert months.run("write_alone", "2013-01").success
    assert months.run("write", "2013-02").success
    (said,) = failures(months.run("publish", "2013-02"))
    assert "check good of raw, partition 2013-01: evaluated before the last write of the table" in said

    assert months.run("write", "2013-01").success
    assert months.run("publish", "2013-01").success
    assert months.published() == [f"raw/partition={month}/content" for month in ("2013-01", "2013-02")]


def test_a_partition_that_no_run_recorded_is_not_published(graveler_lake: EphemeralLake) -> None:
    """A run was killed before it recorded its write, or somebody changed a file by hand."""
    months = Months(graveler_lake, dg.AssetCheckSeverity.ERROR)
    assert months.run("write", "2013-03").success
    stray = "raw/partition=2013-02/content"
    graveler_lake.repository.branch("all").put(stray, b"bad")
    assert months.run("write", "2013-01").success  # its digest is that of the whole table
    (said,) = failures(months.run("publish", "2013-01"))
    assert f"path '{stray}' was changed, but no run materialized its partition on this branch" in said
    assert months.published() == []

    assert months.run("write", "2013-02").success
    assert months.run("publish", "2013-02").success
    assert months.published() == [f"raw/partition={month}/content" for month in ("2013-01", "2013-02", "2013-03")]


def test_checks_of_a_run_of_its_own_count_after_writes_of_other_partitions(graveler_lake: EphemeralLake) -> None:
    months = Months(graveler_lake, dg.AssetCheckSeverity.ERROR)
    assert months.run("write_alone", "2013-01").success
    assert months.run("write_alone", "2013-02").success
    assert months.run("check", "2013-01").success  # it measures the table with both
    assert months.run("check", "2013-02").success
    assert months.run("write", "2013-03").success
    assert months.run("publish", "2013-03").success
    assert len(months.published()) == 3


@pytest.mark.parametrize("warn", ["refuse", "allow"])
def test_a_warning_about_a_partition_refuses_unless_it_is_allowed(graveler_lake: EphemeralLake, warn: str) -> None:
    months = Months(graveler_lake, dg.AssetCheckSeverity.WARN, warn=warn)
    ROWS["2013-01"] = "bad"
    assert months.run("write", "2013-01").success
    assert months.run("write", "2013-02").success
    assert months.run("publish", "2013-02").success == (warn == "allow")
