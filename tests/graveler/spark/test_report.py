"""Tests of the messages that say where work is done."""

from __future__ import annotations

from graveler.spark.report import Report


def test_the_largest_work_decides_what_is_told() -> None:
    said: list[str] = []
    report = Report().begin(said.append)
    assert report.facts() == {"engine": "local"}
    report.decided(20, 100, 1)
    report.decided(40, 100, 1)
    assert report.facts() == {"engine": "local", "rows planned": 40, "spark from rows": 100, "tasks": 1}
    report.decided(1_200, 100, 12)
    report.decided(60, 100, 1)
    assert report.facts() == {"engine": "spark", "rows planned": 1_200, "spark from rows": 100, "tasks": 12}
    assert said == [
        "processing about 20 rows in this process (Spark is used from 100 rows)",
        "processing about 1,200 rows in 12 tasks on Spark (Spark is used from 100 rows)",
    ]
    assert report.begin().facts() == {"engine": "local"}


def test_work_on_rows_that_lie_there_is_spark_s() -> None:
    said: list[str] = []
    report = Report().begin(said.append, "stage")
    report.placed()
    assert report.facts() == {"engine": "spark"}
    assert said == ["stage: Spark processes the rows of a DataFrame"]
    assert report.begin().facts() == {"engine": "local"}


def test_progress_is_told_in_at_most_twenty_steps() -> None:
    said: list[str] = []
    report = Report().begin(said.append, "commit")
    for done in range(1_001):
        report.progressed("applying", done, 1_000)
    assert len(said) == 21
    assert said[-1] == "commit: 1,000 of 1,000 tasks of applying"
    report.progressed("comparing", 1, 1)
    assert said[-1] == "commit: 1 of 1 task of comparing"
