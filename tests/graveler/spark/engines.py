"""Two repositories of one seed on one store: what is done alone, and what Spark does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.report import Report
from graveler_core.engine.reading.view import commit_of
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.clock import RandomIds
from graveler_core.wiring import opening

Step = Callable[[Repository, random.Random], object]


class OneSeed(RandomIds):
    """All repositories cut at the same keys."""

    def seed(self) -> int:
        return 7


class Engines:
    """Two repositories: `alone`, and `spark`, whose work is divided into tasks.

    The workers use the connection, and this process too, unless it has a URL of its own for the same store.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: Path,
        rows_per_task: int = 10_000,
        threshold: int = 20_000,
        connection: Connection | None = None,
        *,
        url: str | None = None,
    ) -> None:
        connection = connection or Connection(f"sqlite:///{root}/meta.db?durability=process")
        self.report = Report()
        cluster = SparkCluster(spark, connection, rows_per_task, threshold, self.report)
        stores = replace(
            opening.open_stores(url or connection.url, storage_options=connection.storage_options or None),
            ids=OneSeed(),
        )
        self.alone = Graveler(stores).create_repository("alone", (root / "alone").as_uri())
        self.spark = Graveler(replace(stores, cluster=cluster)).create_repository("spark", (root / "spark").as_uri())
        self.stores = stores

    def both(self, step: Step, seed: int) -> None:
        """The same step, with the same chance, in both."""
        for repository in (self.alone, self.spark):
            step(repository, random.Random(seed))

    def assert_equal(self, ref: str) -> None:
        """The same tree, operations and paths."""
        assert self.spark.at(ref).tree_id() == self.alone.at(ref).tree_id()
        assert self.operations(self.spark, ref) == self.operations(self.alone, ref)
        assert self.spark.at(ref).to_arrow().read_all().equals(self.alone.at(ref).to_arrow().read_all())

    def operations(self, repository: Repository, ref: str) -> str:
        return commit_of(self.stores, repository._active(), repository.commit(ref).id).header.operations


def table(numbers: list[int], version: int) -> pa.Table:
    paths = [f"{number % 7}/{number:09}" for number in numbers]
    columns = {"key": paths, "address": paths, "size": numbers, "checksum": [f"{version}-{n}" for n in numbers]}
    return pa.table({**columns, "mtime": pa.array([version] * len(numbers), pa.timestamp("us", "UTC"))})
