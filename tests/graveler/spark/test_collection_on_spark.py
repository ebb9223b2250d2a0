"""Collections that Spark's workers compute: the report, and the content that is left, are those of one process."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.report import Report
from graveler_core.errors import CorruptData
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.collected import Collected
from tests.s3_server import S3Server

AT_ONCE = timedelta(0)
ROWS = 30_000


def stored(g: Graveler, name: str, namespace: str) -> None:
    """Commits with many ranges, small commits, staged changes, and objects that nothing names."""
    repo = g.create_repository(name, namespace)
    main = repo.branch("main")
    blobs = main._stores.blobs.at(namespace)
    chance = random.Random(7)
    addresses = [f"data/{chance.getrandbits(128):032x}" for _ in range(ROWS)]
    for address in addresses[::100]:
        blobs.create(address, b"there")
    keys = [f"{n % 7}/{n:06}" for n in range(ROWS)]
    table = pa.table({"key": keys, "address": addresses, "size": [5] * ROWS})
    main.stage_many(table)
    main.commit("all")
    main.remove_prefix("3/")
    main.commit("a seventh is removed")
    main.put("staged", b"staged")
    for n in range(20):
        main.put("lost", b"%d" % n)
    main.remove("lost")


def collected(repository: str, g: Graveler, *, dry_run: bool) -> Collected:
    return g.repository(repository).collect(grace=AT_ONCE, alone=True, dry_run=dry_run)


@pytest.mark.parametrize("storage", ["directory", "s3"])
def test_both_report_and_delete_the_same(spark: SparkSession, s3: S3Server, tmp_path: Path, storage: str) -> None:
    namespace = (tmp_path / "lake").as_uri()
    if storage == "s3":
        namespace = f"s3://{s3.make_bucket(f'b{uuid4().hex}')}/lake"
    connection = Connection(f"sqlite:///{tmp_path}/meta.db?durability=process", s3.options)
    report = Report()
    cluster = SparkCluster(spark, connection, 10_000, 20_000, report)
    with connection.connect() as alone, connection.connect(cluster) as g:
        stored(alone, "lake", namespace)
        rules = alone.repository("lake").set_retention(days=0)
        assert rules.expires
        would = collected("lake", alone, dry_run=True)
        report.begin()
        assert collected("lake", g, dry_run=True) == would
        assert report.facts()["engine"] == "spark"
        done = collected("lake", g, dry_run=False)
        assert (done.condemned, done.condemned_size, done.named) == (would.condemned, would.condemned_size, would.named)
        assert (done.deleted, done.expired) == (would.condemned, would.expiring)
        assert done.condemned_expired > 0
        assert collected("lake", g, dry_run=True) == collected("lake", alone, dry_run=True)
        main = alone.repository("lake").branch("main")
        assert main.read("staged") == b"staged"
        assert {main.read(entry.path) for entry in main.list(limit=1)} == {b"there"}


def test_a_damaged_file_of_a_commit_ends_it(spark: SparkSession, tmp_path: Path) -> None:
    namespace = tmp_path / "lake"
    connection = Connection(f"sqlite:///{tmp_path}/meta.db?durability=process")
    with connection.connect(SparkCluster(spark, connection, 10_000, 20_000)) as g:
        stored(g, "lake", namespace.as_uri())
        ranges = [file for file in (namespace / "_graveler").iterdir() if file.is_file()]
        max(ranges, key=lambda file: file.stat().st_size).write_bytes(b"damaged")
        before = sorted(namespace.rglob("*"))
        with pytest.raises(CorruptData):
            collected("lake", g, dry_run=False)
        assert sorted(namespace.rglob("*")) == before
