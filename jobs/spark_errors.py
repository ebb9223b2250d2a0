"""What keeps Spark from working at all, told in one sentence: no Java, no session, workers without what they need."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final

from graveler_core.errors import GravelerError, InvalidInput, Unavailable
from graveler_core.settings import secret

NOT_INSTALLED: Final = "graveler is not installed"
"""What a worker without the package says."""
_INSTALL: Final = (
    f"install graveler=={version('graveler')} into the Python that they use (PYSPARK_PYTHON, "
    "spark.pyspark.python) on every machine, or ship an environment with it (spark.archives)"
)
_KNOWN: Final = (
    ("JAVA_GATEWAY_EXITED|UnsupportedClassVersionError", "Spark needs Java 17 or later: {java} is none, or older"),
    (
        "SESSION_OR_CONTEXT_NOT_EXISTS|NO_ACTIVE_SESSION|stopped SparkContext|SESSION_CLOSED",
        "the Spark session is stopped, or there is none: make one",
    ),
    (NOT_INSTALLED, f"Spark's workers do not have the package graveler: {_INSTALL}"),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another Python version than the driver: set PYSPARK_PYTHON to one of the driver's version",
    ),
    (
        "Cannot run program",
        "Spark cannot start its Python workers: PYSPARK_PYTHON names no program that is there",
    ),
    ("PACKAGE_NOT_INSTALLED.*(?:grpc|googleapis|zstandard)", "Spark Connect needs more here: install pyspark[connect]"),
    (
        "No FileSystem for scheme|ClassNotFoundException.*FileSystem",
        "Spark has no file system for the objects of this storage namespace: give it one, as spark.jars.packages="
        "org.apache.hadoop:hadoop-aws for S3",
    ),
    ("No module named|PACKAGE_NOT_INSTALLED", f"the Python of Spark's workers lacks a module: {_INSTALL}"),
)


def require_session(spark: object) -> None:
    """Raise `InvalidInput` where a caller gives None for a session."""
    if spark is None:
        raise InvalidInput("no Spark session: give one, as SparkSession.builder.getOrCreate() makes it")


@contextmanager
def explained() -> Iterator[None]:
    """Raise `Unavailable` for an error of Spark's surroundings, which is its cause; leave every other error alone."""
    try:
        yield
    except GravelerError:
        raise
    except Exception as error:
        said = str(error)
        for sign, meaning in _KNOWN:
            if lines := re.findall(rf".*(?:{sign}).*", said):
                # The last one: before it stands the program text that a traceback shows.
                raise Unavailable(f"{meaning.format(java=_java())} ({lines[-1].strip()[:200]})") from error
        raise


def _java() -> str:
    """Which Java Spark takes."""
    home = secret("JAVA_HOME")
    if home is not None:
        return f"what JAVA_HOME names, {home.get_secret_value()!r},"
    return f"what PATH has, {shutil.which('java')!r}," if shutil.which("java") else "JAVA_HOME is not set, and in PATH"
