"""A large commit, by Spark in a small heap and alone: `python -m tests.graveler.spark.large_commit DIRECTORY ROWS`."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from graveler.spark.session import local_settings, pin_worker_interpreter
from graveler_core.facade.repository import Repository
from tests.graveler.spark.engines import Engines, table

BATCH = 400_000
HEAP = "512m"
"""Spark refuses less than 450 MB."""


def commit(repository: Repository, rows: int) -> None:
    """All rows in one commit, staged in batches of which none is sorted."""
    main = repository.branch("main")
    numbers = list(range(rows))
    random.Random(8).shuffle(numbers)
    for start in range(0, rows, BATCH):
        main.stage_many(table(numbers[start : start + BATCH], 8))
    main.commit("Many")


def main(root: Path, rows: int) -> None:
    """Print trees, operations and where the work was done."""
    pin_worker_interpreter()
    builder = SparkSession.builder
    for name, value in local_settings(memory=HEAP).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    made = Engines(spark, root, rows_per_task=BATCH // 2, threshold=BATCH)
    commit(made.alone, rows)
    made.report.begin()
    commit(made.spark, rows)
    found = {r.id: [r.at("main").tree_id(), made.operations(r, "main")] for r in (made.alone, made.spark)}
    print(json.dumps({**found, **made.report.facts()}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
