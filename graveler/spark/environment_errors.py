"""Errors of Spark's environment, explained in one sentence: no Java, no session, or workers that lack a requirement."""

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
"""Message of a worker without the package."""
_INSTALL: Final = (
    f"install graveler=={version('graveler')} into the Python of the workers (PYSPARK_PYTHON, "
    "spark.pyspark.python) on every machine, or ship an environment with it (spark.archives)"
)
_KNOWN: Final = (
    ("JAVA_GATEWAY_EXITED|UnsupportedClassVersionError", "Spark needs Java 17 or later: {java} is none, or older"),
    (
        "SESSION_OR_CONTEXT_NOT_EXISTS|NO_ACTIVE_SESSION|stopped SparkContext|SESSION_CLOSED",
        "the Spark session is stopped, or there is none: create one",
    ),
    (NOT_INSTALLED, f"Spark's workers do not have the package graveler: {_INSTALL}"),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another Python version than the driver: set PYSPARK_PYTHON to one of the driver's version",
    ),
    (
        "Cannot run program",
        "Spark cannot start its Python workers: PYSPARK_PYTHON must name an existing program",
    ),
    (
        "PACKAGE_NOT_INSTALLED.*(?:grpc|googleapis|zstandard)",
        "Spark Connect needs more packages: install pyspark[connect]",
    ),
    (
        "No FileSystem for scheme|ClassNotFoundException.*FileSystem",
        "Spark has no file system for the objects of this storage namespace: configure one, for example "
        "spark.jars.packages=org.apache.hadoop:hadoop-aws for S3",
    ),
    ("No module named|PACKAGE_NOT_INSTALLED", f"the Python of Spark's workers lacks a module: {_INSTALL}"),
)


def require_session(spark: object) -> None:
    """Raise `InvalidInput` if a caller passes `None` as a session."""
    if spark is None:
        raise InvalidInput("no Spark session: pass one, for example SparkSession.builder.getOrCreate()")


@contextmanager
def explained() -> Iterator[None]:
    """Raise `Unavailable` for an error of Spark's environment, with that error as its cause. Other errors are not
    changed.
    """
    try:
        yield
    except GravelerError:
        raise
    except Exception as error:
        said = str(error)
        for sign, meaning in _KNOWN:
            if lines := re.findall(rf".*(?:{sign}).*", said):
                # The last match: a traceback shows program text before it.
                raise Unavailable(f"{meaning.format(java=_java())} ({lines[-1].strip()[:200]})") from error
        raise


def _java() -> str:
    """Return a description of the Java that Spark uses."""
    home = secret("JAVA_HOME")
    if home is not None:
        return f"what JAVA_HOME names, {home.get_secret_value()!r},"
    return f"what PATH has, {shutil.which('java')!r}," if shutil.which("java") else "JAVA_HOME is not set, and in PATH"
