"""Imports from inventories: Parquet files that list objects, in any order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler_core.engine.importing import sorting
from graveler_core.errors import InvalidInput, NoChanges, NotFound
from graveler_core.facade.repository import Repository
from tests.unit.engine.importing.sources import lake, shown
from tests.unit.engine.world import World

SOURCE = "s3://bucket/raw"
WHEN = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def parquet(columns: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, row_group_size=3)
    return sink.getvalue().to_pybytes()


def inventory(*files: dict[str, Any]) -> str:
    """A place that holds an inventory of these files; gives its URI."""
    return lake({f"data/{number}.parquet": parquet(columns) for number, columns in enumerate(files)} | {"note": b"x"})


def test_as_s3_writes_them(world: World) -> None:
    keys = ["raw/b", "other/x", "raw/a", "raw/gone", "raw/c", "raw/old", "raw/dir/", "raw/", "rawer"]
    uri = inventory(
        {
            "bucket": ["bucket"] * 4 + ["another"] + ["bucket"] * 4,
            "key": keys,
            "size": [1, 2, 3, 4, 5, 6, 0, 0, 7],
            "last_modified_date": pa.array([WHEN] * 9, pa.timestamp("ms")),
            "e_tag": [f"e{n}" for n in range(9)],
            "is_latest": [True] * 5 + [False] + [True] * 3,
            "is_delete_marker": [False] * 3 + [True] + [False] * 5,
            "storage_class": ["STANDARD"] * 9,
        }
    )
    done = repo(world).import_inventory(uri, SOURCE, "main", "d")
    assert (done.objects, done.markers) == (2, 2)
    assert shown(world) == {"d/a": 3, "d/b": 1}
    held = world.branch().get("d/a")
    assert (held.address, held.mtime) == ("s3://bucket/raw/a", WHEN)
    assert held.checksum is not None
    assert held.checksum.startswith("etag:e2@")
    with pytest.raises(NoChanges):
        repo(world).import_inventory(uri, SOURCE, "main", "d", mode="replace")


def test_listed_or_from_an_inventory_is_the_same(world: World) -> None:
    uri = lake({f"{n % 7}/{n:03}": b"." * n for n in range(100)})
    repo(world).import_prefix(uri, "main")
    entries = list(repo(world).at("main").list())
    rows = {"key": [f"raw/{e.path}" for e in entries], "size": [e.size for e in entries]}
    etags = [str(e.checksum).partition(":")[2].partition("@")[0] for e in entries]
    found = inventory(rows | {"etag": [f'"{etag}"' for etag in etags]})
    with pytest.raises(NoChanges):
        repo(world).import_inventory(found, uri, "main", mode="replace")


def test_many_files_in_no_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "RUN_ROWS", 20)
    monkeypatch.setattr(sorting, "_PAGE_ROWS", 4)
    monkeypatch.setattr("graveler_core.engine.importing.rows.PAGE_ROWS", 7)
    numbers = [n * 37 % 101 for n in range(101)]
    parts = [numbers[at : at + 30] for at in range(0, 101, 30)]
    uri = inventory(*[{"name": [f"raw/{n:03}" for n in part], "size": part} for part in parts])
    done = repo(world).import_inventory(uri, SOURCE, "main")
    assert done.objects == 101
    assert shown(world) == {f"{n:03}": n for n in range(101)}


def test_one_file_alone(world: World) -> None:
    uri = inventory({"key": ["raw/a"], "size": [1]})
    repo(world).import_inventory(f"{uri}/data/0.parquet", "s3://bucket", "main")
    assert shown(world) == {"raw/a": 1}
    assert world.branch().get("raw/a").checksum is None


def test_what_changed_without_etags_shows_by_its_time(world: World) -> None:
    for second in (1, 2):
        times = pa.array([datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)])
        uri = inventory({"key": ["raw/a"], "size": [1], "last_modified": times})
        changes = repo(world).import_inventory(uri, SOURCE, "main").changes
        assert changes is not None
        assert changes.total == 1


def test_what_is_wrong_with_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="no Parquet files"):
        repo(world).import_inventory(lake({"x": b""}), SOURCE, "main")
    with pytest.raises(NotFound, match="no objects"):
        repo(world).import_inventory(inventory({"key": ["other/a"], "size": [1]}), SOURCE, "main")
    with pytest.raises(InvalidInput, match=r"'data/0.parquet' lacks the column 'size'; it has key, bytes"):
        repo(world).import_inventory(inventory({"key": ["raw/a"], "bytes": [1]}), SOURCE, "main")
    with pytest.raises(InvalidInput, match=r"'x.parquet' is not a readable Parquet"):
        repo(world).import_inventory(lake({"x.parquet": b"PAR1 no"}), SOURCE, "main")
    with pytest.raises(InvalidInput, match="more than once"):
        repo(world).import_inventory(inventory({"key": ["raw/a"] * 2, "size": [1, 2]}), SOURCE, "main")
    monkeypatch.setattr(sorting, "RUN_ROWS", 2)
    monkeypatch.setattr("graveler_core.engine.importing.rows.PAGE_ROWS", 2)
    twice = inventory({"key": ["raw/a", "raw/b"], "size": [1, 2]}, {"key": ["raw/c", "raw/a"], "size": [3, 4]})
    with pytest.raises(InvalidInput, match="1 key is listed again"):
        repo(world).import_inventory(twice, SOURCE, "main")
    for column, values in (("size", ["many"]), ("is_latest", ["perhaps"]), ("size", [None])):
        odd = {"key": ["raw/a"], "size": [1]} | {column: values}
        with pytest.raises(InvalidInput, match=column):
            repo(world).import_inventory(inventory(odd), SOURCE, "main")
