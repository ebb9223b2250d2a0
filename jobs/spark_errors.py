"""What keeps Spark from working at all, told in one sentence: no Java, no session, workers without what they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final

from graveler_core.errors import GravelerError, Unavailable

NOT_INSTALLED: Final = "graveler is not installed"
"""What a worker without the package says."""
_INSTALL: Final = (
    f"install graveler=={version('graveler')} into the Python that they use (PYSPARK_PYTHON, "
    "spark.pyspark.python) on every machine, or ship an environment with it (spark.archives)"
)
_KNOWN: Final = (
    ("JAVA_GATEWAY_EXITED", "Spark needs Java 17 or later: there is none (JAVA_HOME, PATH), or it ended at once"),
    ("UnsupportedClassVersionError", "Spark needs Java 17 or later: what JAVA_HOME names is older"),
    (
        "SESSION_OR_CONTEXT_NOT_EXISTS|NO_ACTIVE_SESSION|stopped SparkContext|SESSION_CLOSED",
        "the Spark session is stopped, or there is none: make one",
    ),
    (NOT_INSTALLED, f"Spark's workers do not have the package graveler: {_INSTALL}"),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another Python version than the driver: set PYSPARK_PYTHON to one of the driver's version",
    ),
    ("Cannot run program", "Spark cannot start its Python workers: PYSPARK_PYTHON names no program that is there"),
    ("No module named|PACKAGE_NOT_INSTALLED", f"the Python of Spark's workers lacks a module: {_INSTALL}"),
)


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
            if found := re.search(rf".*(?:{sign}).*", said):
                raise Unavailable(f"{meaning} ({found.group().strip()[:200]})") from error
        raise
