"""What holds for every test: nothing of the developer's own set-up leaks in, and nothing is judged by the clock."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Before Spark or matplotlib are imported: workers are this interpreter, and no plot asks for a screen.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["MPLBACKEND"] = "Agg"

# Time limits fail on a busy machine, and say nothing about the code.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what a developer's shell may say about stores and instances."""
    for name in list(os.environ):
        if name.startswith("GRAVELER_") or name == "DAGSTER_HOME":
            monkeypatch.delenv(name)
