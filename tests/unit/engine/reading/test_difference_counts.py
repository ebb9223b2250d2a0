"""Counts of differences in parts: what counting in one piece gives, for any prefix and any number of parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.engine.reading import difference_counts as difference
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.registry import open_store
from graveler_core.segments.boundary import Cutting
from graveler_core.stores import Stores
from tests.unit.engine.in_parts import Scattered
from tests.unit.engine.world import TINY_SIZES, AtOnce, CountedIds, FakeClock

ROWS = 600


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def stores(directory: Path) -> Iterator[Stores]:
    made = Stores(
        kv=open_store(f"sqlite:///{directory}/meta.db?durability=process"),
        blobs=OpenedBlobs(),
        clock=FakeClock(),
        ids=CountedIds(),
        executor=AtOnce(),
        cutting=Cutting(mean_entries=8, max_bytes=3_000, fan_out=3),
        sizes=TINY_SIZES,
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def lake(stores: Stores, directory: Path) -> Repository:
    """Two commits: one path in three is changed, one in five removed, some are added at the end. Tests only read it."""
    lake = Graveler(stores).create_repository("lake", (directory / "lake").as_uri())
    main = lake.branch("main")
    main.stage_many(table(range(ROWS), "one"))
    main.commit("One")
    main.stage_many(table(range(0, ROWS, 3), "two"))
    main.remove_many([path(number) for number in range(0, ROWS, 5)])
    main.stage_many(table(range(ROWS, ROWS + 50), "two"))
    main.commit("Two")
    return lake


def path(number: int) -> str:
    return f"{number % 3}/{number:05}"


def table(numbers: range, checksum: str) -> pa.Table:
    paths = [path(number) for number in numbers]
    return pa.table({"key": paths, "address": paths, "size": [1] * len(paths), "checksum": [checksum] * len(paths)})


@pytest.mark.parametrize("prefix", ["", "1/", "2/004", "9/"])
@pytest.mark.parametrize("parts", [2, 5, 1_000])
def test_parts_add_up(stores: Stores, lake: Repository, prefix: str, parts: int) -> None:
    cluster = Scattered(lambda: stores, into=parts)
    there = Graveler(replace(stores, cluster=cluster)).repository("lake")
    for sides in (("main~1", "main"), ("main", "main~1"), ("main~2", "main")):
        assert there.diff_summary(*sides, prefix) == lake.diff_summary(*sides, prefix)
    assert bool(cluster.done) == (prefix != "9/")


def test_little_is_counted_here(stores: Stores, lake: Repository) -> None:
    cluster = Scattered(lambda: stores, least=10 * ROWS)
    there = Graveler(replace(stores, cluster=cluster)).repository("lake")
    assert there.diff_summary("main~1", "main").total == lake.diff_summary("main~1", "main").total > ROWS // 3
    assert there.diff_summary("main", "main").total == 0
    assert cluster.done == []


def test_parts_are_of_about_equal_size(stores: Stores, lake: Repository) -> None:
    cluster = Scattered(lambda: stores, into=4)
    there = replace(stores, cluster=cluster)
    sides = difference.history.sides(stores, lake._active(), difference.DiffQuery("main~2", "main"))
    spans = difference._planned(there, cluster, lake._active(), sides, (b"", None))
    sizes = [difference._counting(lake._active(), sides, stores, span).total for span in spans]
    assert len(sizes) == 4
    assert max(sizes) < sum(sizes) / 2


def test_no_rows_have_no_split_points() -> None:
    assert difference._split_points([], 4) == []
