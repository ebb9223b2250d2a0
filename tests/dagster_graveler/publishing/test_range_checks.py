"""Checks of runs over a range of partitions: a result counts for each partition of the range, and for no other."""

import dagster as dg
import pyarrow as pa
import pytest

from dagster_graveler import write_audit_publish
from dagster_graveler.beta import beta_accepted
from dagster_graveler.publishing.evidence import BranchIdentity, gather
from dagster_graveler.publishing.groups import publications_of
from dagster_graveler.runs import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG
from dagster_graveler.testing import EphemeralLake
from tests.dagster_graveler.publishing.small_lake import MONTHS, PUBLISH, PUBLISHED

pytestmark = pytest.mark.filterwarnings("ignore:Specifying a partitions_def on an AssetCheckSpec")
RAW = dg.AssetKey("raw")
GOOD = dg.AssetCheckKey(RAW, "good")
FIRST, SECOND, THIRD = MONTHS.get_partition_keys()


class Months:
    """The table `raw`, whose check looks at the partitions of the run. Months in `bad` fail it."""

    def __init__(self, lake: EphemeralLake) -> None:
        self.bad, self._lake, self._number = set[str](), lake, 0
        with beta_accepted():

            @dg.asset(
                partitions_def=MONTHS,
                group_name="months",
                metadata={"partition_expr": "month"},
                backfill_policy=dg.BackfillPolicy.single_run(),
            )
            def raw(context: dg.AssetExecutionContext) -> pa.Table:
                self._number += 1
                months = list(context.partition_keys)
                return pa.table({"month": months, "n": [self._number] * len(months)})

            @dg.asset_check(asset=raw, blocking=True, partitions_def=MONTHS)
            def good(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
                return dg.AssetCheckResult(passed=self.bad.isdisjoint(context.partition_keys))

            made = write_audit_publish(tables=[raw], checks=[good], key=PUBLISHED)
        jobs = [
            dg.define_asset_job("write", dg.AssetSelection.assets(raw.key)),
            dg.define_asset_job("check", dg.AssetSelection.checks(*good.check_keys)),
            dg.define_asset_job("publish", [PUBLISH]),
        ]
        more = dg.Definitions(jobs=jobs, resources=lake.resources, executor=dg.in_process_executor)
        self._definitions = dg.Definitions.merge(made, more)

    def run(self, job: str, first: str, last: str = "") -> dg.ExecuteInProcessResult:
        """Run a job over one month, or over a range of months."""
        months = {RANGE_START_TAG: first, RANGE_END_TAG: last} if last else {PARTITION_TAG: first}
        return self._definitions.resolve_job_def(job).execute_in_process(
            instance=self._lake.instance, tags={"graveler/branch": "all", **months}, raise_on_error=False
        )

    def failed(self) -> list[str]:
        """Return the months whose newest result is a failure. Any of them prevents the publication of the branch."""
        (publication,) = publications_of([RAW])
        uid = str(self._lake.repository.branch("all").record().uid)
        evidence = gather(self._lake.instance, publication.groups[0], BranchIdentity("lake", "all", uid))
        newest = {
            month: evidence.newest_for(GOOD, write) for month, write in sorted(evidence.partition_writes[RAW].items())
        }
        failed = [month for month, found in newest.items() if found is None or not found.passed]
        assert self.run("publish", FIRST).success == (not failed)
        return failed


@pytest.fixture
def months(graveler_lake: EphemeralLake) -> Months:
    return Months(graveler_lake)


def test_a_failed_check_counts_for_each_partition_of_the_range_until_each_has_passed(months: Months) -> None:
    months.bad = {SECOND}
    assert not months.run("write", FIRST, THIRD).success
    assert months.failed() == [FIRST, SECOND, THIRD]
    months.bad = set()
    assert months.run("write", SECOND).success
    assert months.failed() == [FIRST, THIRD]
    assert months.run("check", FIRST, THIRD).success
    assert months.failed() == []


def test_a_newer_check_over_another_range_counts_for_the_partitions_in_it(months: Months) -> None:
    assert months.run("write", FIRST, THIRD).success
    months.bad = {THIRD}
    assert not months.run("check", SECOND, THIRD).success
    assert months.failed() == [SECOND, THIRD]
    months.bad = set()
    assert months.run("check", FIRST, SECOND).success
    assert months.failed() == [THIRD]
    assert months.run("check", THIRD).success
    assert months.failed() == []


def test_a_failed_check_over_a_range_counts_after_writes_of_single_partitions(months: Months) -> None:
    for month in (FIRST, SECOND, THIRD):
        assert months.run("write", month).success
    months.bad = {THIRD}
    assert not months.run("check", SECOND, THIRD).success
    assert months.failed() == [SECOND, THIRD]
