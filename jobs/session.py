"""How Spark is set up for graveler's jobs: the settings of a session, as plain values.

Stands at the bottom of `jobs`, and imports nothing of the library: Dagster's definitions import this, and must stay
light. Nothing here starts Spark: whoever owns the session (a Dagster resource, a test, a script) hands
`local_settings()` to its builder.
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
"""At a task; Spark's own default for a local session is one."""


def local_settings(cores: int = 2, memory: str = "1g") -> dict[str, str]:
    """Settings of a small local session: `cores` threads in one JVM of `memory`, few shuffle partitions, no web page.

    A task is tried again when its worker dies, as on a cluster.
    The session's time zone is UTC, so that dates never depend on where a job runs.
    """
    return {
        **_LOCAL,
        "spark.master": f"local[{cores},{_ATTEMPTS}]",
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(cores),
    }


def pin_worker_interpreter() -> None:
    """Make Spark's Python workers use this interpreter, unless the surroundings name another.

    Without it the workers take the first `python3` of the PATH, which need not have pyarrow, and fail after 25 s.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
