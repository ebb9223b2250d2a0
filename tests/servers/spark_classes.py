"""Archive of the classes that Spark loads, for the Java processes of Spark in tests.

Java parses and verifies some 10,000 classes at each start of Spark. An archive of its own format spares half of the
processor time of a start. It is made once for an installation of Java and Spark, in the cache of the checkout.
`python -m tests.servers.spark_classes` makes it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.servers.maven import SHORT_LIVED_JAVA, java
from tests.servers.packages import CACHE, made_once

_NAME = "classes.jsa"
_SILENT = "-Xlog:cds*=off"
"""Java with other jars leaves the archive alone. It would write that to the output."""


def options() -> str:
    """Options of Java that use the archive, if it has been made."""
    if find_spec("pyspark") is None or shutil.which(java()) is None:
        return SHORT_LIVED_JAVA
    return f'{SHORT_LIVED_JAVA} {_SILENT} "-XX:SharedArchiveFile={_place() / _NAME}"'


def make_archive() -> None:
    """Make the archive, unless that is done. Other processes wait."""
    with made_once(_place()) as unfinished:
        if unfinished:
            asked = f'{SHORT_LIVED_JAVA} {_SILENT} "-XX:ArchiveClassesAtExit={unfinished / _NAME}"'
            subprocess.run(
                [sys.executable, "-m", "tests.servers.spark_classes", str(unfinished)],
                env={**os.environ, "SPARK_SUBMIT_OPTS": asked},
                cwd=Path(__file__).parents[2],
                check=True,
                capture_output=True,
            )
            assert (unfinished / _NAME).exists()


def _place() -> Path:
    """Return a directory whose name stands for the installed Java and Spark: Java checks the times of the jars."""
    spark = find_spec("pyspark")
    program = shutil.which(java())
    assert spark is not None
    assert spark.origin is not None
    assert program is not None
    installed = [Path(spark.origin).parent / "jars", Path(program).resolve()]
    said = "".join(f"{path} {path.stat().st_mtime_ns}\n" for path in installed)
    return CACHE / f"spark-classes-{zlib.crc32(said.encode()):08x}"


def _use_spark(directory: str) -> None:
    """Do what most tests do, and end Java, which then writes the archive."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from graveler.spark.session import local_settings, pin_worker_interpreter

    pin_worker_interpreter()
    spark = SparkSession.builder.config(map={**local_settings()}).getOrCreate()
    frame = spark.range(1_000).selectExpr("id", "id % 7 AS part", "cast(id AS string) AS text")
    frame.write.partitionBy("part").parquet(f"{directory}/parquet")
    found = spark.read.parquet(f"{directory}/parquet").filter("id > 5").groupBy("part").count().orderBy("part")
    assert len(found.collect()) == 7
    frame.createOrReplaceTempView("frame")
    assert len(spark.sql("SELECT * FROM frame a JOIN frame b USING (id)").collect()) == 1_000
    assert frame.mapInArrow(lambda batches: batches, frame.schema).count() == 1_000
    assert spark.sparkContext.parallelize(range(4), 2).map(lambda number: number + 1).sum() == 10
    spark.stop()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    shutil.rmtree(f"{directory}/parquet")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        make_archive()
    else:
        _use_spark(sys.argv[1])
