"""The main job in this process: what it publishes, what it holds back, how it is resumed."""

from __future__ import annotations

import dagster as dg

from graveler_core.errors import PermissionDenied
from graveler_core.facade.repository import Repository
from tests.dagster_installation import FailOnce
from tests.flights_data import FLIGHTS_A_DAY
from tests.orchestration.conftest import JANUARY, Pipeline

TABLES = ("cleaned_flights", "daily_delays", "raw_flights", "raw_weather")


def files(*months: str) -> list[str]:
    return [f"{table}/flight_month={month}/part-00000.parquet" for table in TABLES for month in months]


def started(result: dg.JobExecutionResult) -> list[str]:
    return [e.step_key or "" for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_START]


def test_a_month_is_published_and_says_what_it_is(flights: Pipeline) -> None:
    result = flights.run({**JANUARY, "graveler/message": "The first month"})
    assert result.success
    assert [entry.path for entry in flights.repository.at("main").list()] == files("2013-01")
    assert flights.branches() == ["main"]
    assert len(flights.history()) == 2
    merged = flights.repository.commit("main")

    (reported,) = flights.reported()
    assert (reported.tags or {})["dagster/data_version"] == merged.id
    values = {name: value.value for name, value in reported.metadata.items()}
    assert values["commit"] == merged.id
    assert values["changes"] == 4
    assert values["flights"] == 31 * FLIGHTS_A_DAY
    assert values["airport days"] == 93
    assert str(values["daily delays"]).startswith("![daily departure delays by airport](data:image/png;base64,iVBOR")
    assert "| daily\\_delays | 1 | 0 | 0 |" in str(values["diff summary"])

    made = flights.repository.commit(merged.parents[1])
    assert merged.message == made.message == "The first month"
    assert merged.committer == made.committer == "dagster"
    leads_back = {"run": result.run_id, "job": "flights_pipeline", "partition": "2013-01"}
    audit = {
        "branch": f"run-{result.run_id[:13]}",
        "tables": "cleaned_flights, daily_delays, raw_flights, raw_weather",
        "checks": "9 accepted",
        "check runs": result.run_id,
    }
    assert merged.metadata == {**leads_back, **audit, "step": "flights__main.publish"}
    assert made.metadata == {**leads_back, "step": "flights__main.commit"}

    (table,) = result.asset_materializations_for_node("cleaned_flights")
    values = {name: value.value for name, value in table.metadata.items()}
    assert values["dagster/row_count"] == values["dagster/partition_row_count"] == 31 * FLIGHTS_A_DAY
    assert values["dagster/uri"] == f"graveler://flights/run-{result.run_id[:13]}/cleaned_flights"
    schema = values["dagster/column_schema"]
    assert isinstance(schema, dg.TableSchema)
    assert ("flight_date", "date") in {(column.name, column.type) for column in schema.columns}


def test_several_months_are_one_publication(flights: Pipeline) -> None:
    months = {"dagster/asset_partition_range_start": "2013-01", "dagster/asset_partition_range_end": "2013-02"}
    assert flights.run(months).success
    assert flights.run({"dagster/partition": "2013-03"}).success
    assert [entry.path for entry in flights.repository.at("main").list()] == files("2013-01", "2013-02", "2013-03")
    assert [entry.path for entry in flights.repository.at("main~1").list()] == files("2013-01", "2013-02")
    messages = [commit.message for commit in flights.repository.log("main", first_parent=True, limit=2)]
    assert messages == ["Publish 2013-03", "Publish 2013-01 to 2013-02"]
    before = flights.history()
    again = flights.run({"dagster/partition": "2013-03"})  # the same batch again is no change
    assert again.success
    assert flights.history() == before
    newest, former, *range_ = flights.reported()
    assert [reported.partition for reported in range_] == ["2013-02", "2013-01"]
    assert (newest.tags or {})["dagster/data_version"] == (former.tags or {})["dagster/data_version"] == before[0]
    assert newest.metadata["changes"].value == 0
    checks = {(e.asset_key.to_user_string(), e.check_name): e for e in again.get_asset_check_evaluations()}
    assert checks["cleaned_flights", "keys_unique"].metadata["rows"].value == 90 * FLIGHTS_A_DAY  # the whole table


def test_a_bad_batch_never_reaches_main_and_its_branch_stays(flights: Pipeline) -> None:
    assert flights.run().success
    before = flights.history()
    result = flights.run(spoil=True)
    assert not result.success
    assert flights.history() == before
    assert len(flights.reported()) == 1
    checks = {(e.asset_key.to_user_string(), e.check_name): e.passed for e in result.get_asset_check_evaluations()}
    assert checks["cleaned_flights", "row_count"]
    assert not checks["cleaned_flights", "keys_unique"]
    assert not checks["cleaned_flights", "delays_within_bounds"]

    branch = f"run-{result.run_id[:13]}"
    assert flights.branches() == ["main", branch]
    changed = [change.path for change in flights.repository.branch(branch).uncommitted()]
    assert changed == [
        "cleaned_flights/flight_month=2013-01/part-00000.parquet",
        "raw_flights/flight_month=2013-01/part-00000.parquet",
    ]
    assert flights.history(branch) == before


def test_a_resumed_run_goes_on_with_what_the_first_one_committed(flights: Pipeline, fail_once: FailOnce) -> None:
    fail_once(Repository, "merge", PermissionDenied("not today"))
    failed = flights.run()
    assert not failed.success
    branch = f"run-{failed.run_id[:13]}"
    committed = flights.history(branch)

    resumed = flights.run(resumes=failed.run_id)
    assert resumed.success
    assert started(resumed) == ["flights__main.publish"]
    assert flights.repository.commit("main").parents[1] == committed[0]
    assert flights.branches() == ["main"]
