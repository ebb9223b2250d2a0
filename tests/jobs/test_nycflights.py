"""The real input: found, unpacked, checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from graveler_core.errors import InvalidInput, NotFound
from jobs import nycflights
from jobs.nycflights import WEATHER_SCHEMA, read_csv, read_flights, read_weather
from tests.flights_data import write_weather


def test_the_real_flights_are_all_there(spark: SparkSession, tmp_path: Path) -> None:
    flights = read_flights(spark, tmp_path)
    totals = flights.agg(
        F.count("*"), F.countDistinct("month"), F.sum("distance"), F.min("dep_delay"), F.max("dep_delay")
    ).first()
    assert totals is not None
    assert tuple(totals) == (336_776, 12, 350_217_607.0, -43.0, 1301.0)


def test_the_reference_files_are_there() -> None:
    headers = {file.name: file.read_text().split(",")[0].strip('"') for file in nycflights.reference_files()}
    assert headers == {"airlines.csv": "carrier", "airports.csv": "faa", "planes.csv": "tailnum"}


def test_the_archive_is_unpacked_once(spark: SparkSession, tmp_path: Path) -> None:
    read_flights(spark, tmp_path)
    (unpacked,) = tmp_path.rglob("flights.csv")
    before = unpacked.stat()
    read_flights(spark, tmp_path)
    assert unpacked.stat().st_mtime_ns == before.st_mtime_ns
    assert [p.name for p in unpacked.parent.iterdir()] == ["flights.csv"]


def test_a_file_that_somebody_changed_is_unpacked_again(spark: SparkSession, tmp_path: Path) -> None:
    read_flights(spark, tmp_path)
    (unpacked,) = tmp_path.rglob("flights.csv")
    whole = unpacked.read_bytes()
    for broken in (whole[:1000], whole.replace(b"JFK", b"LGA")):
        unpacked.write_bytes(broken)
        read_flights(spark, tmp_path)
        assert unpacked.read_bytes() == whole


def test_the_real_weather_is_all_there(spark: SparkSession) -> None:
    weather = read_weather(spark)
    assert weather.count() == 26_115
    assert {row.origin for row in weather.select("origin").distinct().collect()} == {"EWR", "JFK", "LGA"}


def test_na_is_null(spark: SparkSession, tmp_path: Path) -> None:
    weather = read_csv(spark, write_weather(tmp_path / "weather.csv"), WEATHER_SCHEMA)
    assert weather.where("dewp IS NULL").count() == weather.count() > 0
    assert weather.where("temp IS NULL").count() == 0


def test_another_header_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path = write_weather(tmp_path / "weather.csv")
    path.write_text(path.read_text().replace("wind_gust", "gusts"))
    with pytest.raises(InvalidInput, match=r"weather\.csv: columns are .*gusts"):
        read_csv(spark, path, WEATHER_SCHEMA)


def test_an_unreadable_value_fails_the_query(spark: SparkSession, tmp_path: Path) -> None:
    path = write_weather(tmp_path / "weather.csv")
    path.write_text(path.read_text().replace("EWR,2013", "EWR,MMXIII", 1))
    with pytest.raises(Py4JJavaError, match="Malformed records are detected"):
        read_csv(spark, path, WEATHER_SCHEMA).collect()


def test_a_missing_package_or_file_is_named(
    monkeypatch: pytest.MonkeyPatch, spark: SparkSession, tmp_path: Path
) -> None:
    monkeypatch.setattr(nycflights, "PACKAGE", "no-such-package")
    with pytest.raises(NotFound, match="no-such-package"):
        read_flights(spark, tmp_path)
    monkeypatch.setattr(nycflights, "PACKAGE", "pytest")
    with pytest.raises(NotFound, match=r"'pytest' does not contain 'flights\.csv\.zip'"):
        read_flights(spark, tmp_path)
