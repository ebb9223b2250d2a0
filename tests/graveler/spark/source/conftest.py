"""A repository of many ranges, and reads of it by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from graveler.spark.source import register
from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from graveler_core.wiring.opening import open_stores
from tests.graveler.spark.source.lakes import COUNT, Lake, Read, SixRanges, table


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Not to be changed but on branches of one's own."""
    place = tmp_path_factory.mktemp("lake")
    url = f"sqlite:///{place / 'meta.db'}?durability=process"
    with Graveler(replace(open_stores(url), ids=SixRanges())) as graveler:
        repo = graveler.create_repository("lake", (place / "data").as_uri())
        main = repo.branch("main")
        main.stage_many(table([f"t/{n:06}" for n in range(COUNT)]))
        main.commit("many", committer="ada", metadata={"run": "7"})
        repo.create_tag("v1", "main", message="the first", signature="x")
        main.remove_many([f"t/{n:06}" for n in range(100, 110)])
        main.stage_many(table(["t/000003", "u/ü", "z"], 1_000_000))
        main.commit("few", committer="grace")
        main.stage_many(table(["staged/1"], 7))
        main.remove("z")
        yield Lake(url, repo)


@pytest.fixture(scope="session")
def read(spark: SparkSession, lake: Lake) -> Read:
    """Reads the lake with some options."""
    register(spark)

    def load(schema: str | None = None, **options: Any) -> DataFrame:
        reader = spark.read.format("graveler").options(**lake.options(**options))
        return (reader.schema(schema) if schema else reader).load()

    return load


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    """Spark hands filters over."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Lake]:
    """An empty repository of one's own."""
    url = f"sqlite:///{tmp_path / 'meta.db'}?durability=process"
    with connect(url) as graveler:
        yield Lake(url, graveler.create_repository("lake", (tmp_path / "a lake, 100 % real").as_uri()))
