"""The real source, in the one session."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from dagster_graveler.resources.spark import local_pyspark, session
from orchestration.resources.flights_source import FlightsSource


def test_the_source_reads_the_real_files_in_the_one_session(spark: SparkSession, tmp_path: Path) -> None:
    pyspark = local_pyspark()
    source = FlightsSource(pyspark=pyspark, workdir=str(tmp_path))
    assert source.flights().where("month = 2").count() == 24_951
    assert source.weather().where("month = 2").count() == 2_010
    assert session(pyspark).sparkContext is spark.sparkContext
    assert [path.name for path in tmp_path.rglob("*.csv")] == ["flights.csv"]
