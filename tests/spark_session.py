"""One Spark session for all tests of a process: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from graveler.spark.session import local_settings, pin_worker_interpreter
from tests.examples import few
from tests.servers.spark_classes import make_archive


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if not few():  # it costs what five starts of Spark cost, and the everyday tier has one
        make_archive()
    pin_worker_interpreter()
    builder = SparkSession.builder
    for name, value in local_settings().items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
