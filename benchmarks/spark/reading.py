"""Reads of entries and content through Spark, compared with reads of the same files by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks import entries
from benchmarks.core import committed_entries
from benchmarks.scenario import Measured, Place, scenario
from benchmarks.spark.engines import Engine, engines, in_a_process, per_core, require_equal, session
from benchmarks.spark.processes import Spent, spent
from graveler.spark.source import graveler_read, register
from graveler.spark.tables import hadoop_uri
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.wiring.opening import open_stores

_FILE_ROWS = 250_000
_TABLE = "table"
_PYARROW = "pyarrow"
Found = tuple[Spent, int]
"""Time and memory of a read, and the number that it returned."""


def committed_files(place: Place) -> None:
    """Create a repository with a committed table below `table/`, in Parquet files of 250,000 rows."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        for start in range(0, place.size, _FILE_ROWS):
            numbers = np.arange(start, min(start + _FILE_ROWS, place.size))
            columns = {"number": numbers, "value": np.sqrt(numbers), "text": entries.keys(numbers)}
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table(columns), sink, compression="zstd")
            main.put(f"{_TABLE}/part-{start:012}.parquet", sink.getvalue().to_pybytes())
        main.commit("A table")


@scenario("spark", committed_entries)
def read_entries(place: Place) -> Iterator[Measured]:
    """Count all entries of a commit with pyarrow, with the library in one process, and with `format("graveler")`."""
    yield from _compared(
        "read entries",
        place,
        [
            (_PYARROW, lambda: in_a_process(_arrow_entries, place)),
            ("alone", lambda: in_a_process(_entries, place)),
            *((e.name, lambda e=e: in_a_process(_spark_entries, e, place)) for e in engines(place)[1:]),
        ],
    )


@scenario("spark", committed_files)
def read_content(place: Place) -> Iterator[Measured]:
    """Sum the columns of a table with pyarrow, with Spark on the plain files, and with `graveler_read`."""
    yield from _compared(
        "read a table",
        place,
        [
            (_PYARROW, lambda: in_a_process(_arrow_table, place)),
            *((f"{e.name}, files", lambda e=e: in_a_process(_spark_files, e, place)) for e in engines(place)[1:]),
            *((e.name, lambda e=e: in_a_process(_spark_table, e, place)) for e in engines(place)[1:]),
        ],
    )


def _compared(name: str, place: Place, readings: list[tuple[str, Callable[[], Found]]]) -> Iterator[Measured]:
    """Run all reads, and compare each with the first one."""
    (first, reading), *others = readings
    least, expected = reading()
    yield from per_core(f"{name}, {first}", place.size, least)
    for who, reading in others:
        taken, found = reading()
        require_equal(name, who, found, expected)
        yield from per_core(f"{name}, {who}", place.size, taken, (first, least))


def _arrow_entries(place: Place) -> Found:
    with closing(open_stores(place.store)) as stores:
        blobs = stores.blobs.at(place.data)
        ranges = [info.address for info in blobs.list("_graveler/") if _is_range(blobs.read(info.address))]
        return _summed(lambda: sum(_table_at(blobs.read, address).num_rows for address in ranges))


def _entries(place: Place) -> Found:
    with place.connect() as g:
        at = place.repo(g).at("main@")
        return _summed(lambda: sum(batch.num_rows for batch in at.to_arrow()))


def _spark_entries(engine: Engine, place: Place) -> Found:
    def frame(spark: SparkSession, prefix: str = "") -> DataFrame:
        register(spark)
        options = {"store": place.store, "repository": place.repository, "ref": "main@", "prefix": prefix}
        return spark.read.format("graveler").options(**options).load()

    with session(engine.master) as spark:
        frame(spark, entries.key(0).rpartition("/")[0]).count()
        application = spark.sparkContext.applicationId
        return _summed(lambda: frame(spark).count(), application)


def _arrow_table(place: Place) -> Found:
    with closing(open_stores(place.store)) as stores:
        blobs, addresses = stores.blobs.at(place.data), _addresses(place)

        def read() -> int:
            total = 0
            for address in addresses:
                table = _table_at(blobs.read, address)
                total += pc.sum(table["number"]).as_py()
                pc.sum(table["value"]), pc.sum(pc.utf8_length(table["text"]))
            return total

        return _summed(read)


def _spark_files(engine: Engine, place: Place) -> Found:
    files = [hadoop_uri(place.data, address) for address in _addresses(place)]
    return _spark_summed(engine, lambda spark: spark.read.parquet(*files), files[0])


def _spark_table(engine: Engine, place: Place) -> Found:
    where = {"store": place.store, "repository": place.repository}
    first = hadoop_uri(place.data, _addresses(place)[0])
    return _spark_summed(engine, lambda spark: graveler_read(spark, where, "main", _TABLE), first)


def _spark_summed(engine: Engine, frame: Callable[[SparkSession], DataFrame], first: str) -> Found:
    """Read one file as a warm-up, then measure the read of all files."""
    with session(engine.master) as spark:
        _total(spark.read.parquet(first))
        return _summed(lambda: _total(frame(spark)), spark.sparkContext.applicationId)


def _total(frame: DataFrame) -> int:
    (row,) = frame.agg(F.sum("number"), F.sum("value"), F.sum(F.length("text"))).collect()
    return int(row[0])


def _is_range(data: bytes) -> bool:
    return data[:4] == b"PAR1" and pq.read_schema(pa.py_buffer(data)).names == ENTRY_SCHEMA.names


def _table_at(read: Callable[[str], object], address: str) -> pa.Table:
    return pq.read_table(pa.py_buffer(read(address)), use_threads=False)


def _addresses(place: Place) -> list[str]:
    with place.connect() as g:
        return [address for batch in place.repo(g).at("main").to_arrow() for address in batch["address"].to_pylist()]


def _summed(read: Callable[[], int], application: str = "") -> Found:
    totals = list[int]()
    return spent(lambda: totals.append(read()), application), totals[0]
