"""Publications that race for the same partition."""

from __future__ import annotations

from tests.dagster_graveler.publishing.conftest import JANUARY, Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES, failures


def test_the_second_of_two_runs_that_replace_one_partition_is_told_to_run_again(lake: Lake) -> None:
    for name in ("one", "two"):  # both branches begin from the same commit, and each run names its files itself
        assert lake.run(*TABLES, tags={"graveler/branch": name}, raw=[name]).success
    assert lake.run(PUBLISH, tags={"graveler/branch": "one"}).success
    result = lake.run(PUBLISH, tags={"graveler/branch": "two"})
    assert not result.success
    (said,) = failures(result)
    assert said.startswith("kept: branch 'two' is not published.")
    assert f"raw/{JANUARY}/" in said
    assert "another run published the same data meanwhile" in said
    assert "run again" in said
    assert lake.published("raw") == ["one"]


def test_other_partitions_do_not_disturb_each_other(lake: Lake) -> None:
    for month in ("2013-01", "2013-02"):
        assert lake.run(*TABLES, partition=month, tags={"graveler/branch": month}).success
    for month in ("2013-01", "2013-02"):
        assert lake.run(PUBLISH, partition=month, tags={"graveler/branch": month}).success
    assert lake.published("raw", "2013-01") == lake.published("raw", "2013-02") == ["raw row"]
