"""Settings of a Spark session, as values."""

from __future__ import annotations

import os
import sys

import pytest

from graveler.spark.session import local_settings, pin_worker_interpreter


def test_settings_follow_the_cores() -> None:
    settings = local_settings(cores=3, memory="2g")
    assert settings["spark.master"] == "local[3,3]"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.driver.memory"] == "2g"
    assert settings["spark.ui.enabled"] == "false"


def test_workers_run_on_this_interpreter_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON")
    pin_worker_interpreter()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "another")
    pin_worker_interpreter()
    assert os.environ["PYSPARK_PYTHON"] == "another"
