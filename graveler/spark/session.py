"""Spark settings for graveler's jobs, as plain values.

This module imports nothing of the library, because Dagster's definitions import it and must load quickly. Nothing here
starts Spark: the owner of the session (a Dagster resource, a test, a script) passes `local_settings()` to its builder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

_LOCAL: Mapping[str, str] = MappingProxyType(
    {
        "spark.app.name": "graveler",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
)

_ATTEMPTS = 3
"""Attempts per task. Spark's default for a local session is one."""


def local_settings(cores: int = 2, memory: str = "1g") -> dict[str, str]:
    """Return settings of a small local session in one JVM, with few shuffle partitions and without a web page.

    A task is retried when its worker dies, as on a cluster. The session's time zone is UTC, so that dates never
    depend on the machine that runs a job.

    Args:
        cores: Number of tasks that run at once, and of shuffle partitions.
        memory: Heap of the JVM, in the notation of Java: `1g`, `512m`.

    Returns:
        Settings by name, for `SparkSession.builder.config`.
    """
    return {
        **_LOCAL,
        "spark.master": f"local[{cores},{_ATTEMPTS}]",
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(cores),
    }


def pin_worker_interpreter() -> None:
    """Make Spark's Python workers use this interpreter, unless the environment names another.

    Without this, the workers use the first `python3` of the PATH. If it lacks pyarrow, they fail after 25 s.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
