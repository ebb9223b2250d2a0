"""Collections that read an inventory instead of listing the namespace: as S3 writes it, and older than the objects."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler_core.errors import InvalidInput, NotFound
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.sweep import GRACE
from graveler_core.model.address import namespace
from tests.unit.engine.in_parts import Scattered
from tests.unit.gc.lake import Lake

Rows = dict[str, list[object]]
Written = Callable[[Path, Rows], str]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Five objects without a name, and one that main names."""
    lake = Lake(tmp_path / "a lake, 100%")
    for n in range(6):
        lake.branch().put("x", b"." * (n + 1))
    lake.branch().upload("left by a +job", b"lost")
    lake.branch().commit("the sixth")
    lake.sleep(GRACE)
    return lake


def rows(lake: Lake) -> Rows:
    """What the namespace holds now: all files, as S3 lists them."""
    place = namespace(lake.root.as_uri())
    found = list(lake.world.blobs.at(place.uri).list())
    return {
        "key": [f"{place.path}/{info.address}" for info in found],
        "size": [info.size for info in found],
        "last_modified_date": [info.mtime for info in found],
    }


def parquet(directory: Path, listed: Rows) -> str:
    """Files of Parquet in a directory."""
    directory.mkdir(exist_ok=True)
    for number in range(2):
        part = {name: values[number::2] for name, values in listed.items()}
        pq.write_table(pa.table(part), directory / f"{number}.parquet", coerce_timestamps="us")
    return directory.as_uri()


def manifest(directory: Path, kind: str, schema: str, names: list[str]) -> str:
    home = namespace(directory.as_uri()).path
    files = [{"key": f"{home}/data/{name}", "size": 1, "MD5checksum": "0"} for name in names]
    document = {
        "sourceBucket": "",
        "destinationBucket": "arn:aws:s3:::",
        "version": "2016-11-30",
        "creationTimestamp": "1514944800000",
        "fileFormat": kind,
        "fileSchema": schema,
        "files": files,
    }
    (directory / "2026-01-01T01-00Z").mkdir(exist_ok=True, parents=True)
    file = directory / "2026-01-01T01-00Z" / "manifest.json"
    file.write_text(json.dumps(document))
    return file.as_uri()


def parquet_by_manifest(directory: Path, listed: Rows) -> str:
    directory.mkdir(exist_ok=True)
    parquet(directory / "data", listed)
    return manifest(directory, "Parquet", "message s3.inventory { }", ["0.parquet", "1.parquet"])


def csv_by_manifest(directory: Path, listed: Rows) -> str:
    (directory / "data").mkdir(exist_ok=True, parents=True)
    lines = [
        f'"{quote_plus(str(key), safe="/")}","true","{size}","{when:%Y-%m-%dT%H:%M:%S.%f}Z"\n'
        for key, size, when in zip(*listed.values(), strict=True)
    ]
    for number in range(2):
        text = "".join(lines[number::2])
        (directory / "data" / f"{number}.csv.gz").write_bytes(gzip.compress(text.encode()))
    schema = "Key, IsLatest, Size, LastModifiedDate"
    return manifest(directory, "CSV", schema, ["0.csv.gz", "1.csv.gz"])


def both(lake: Lake, plan: CollectionPlan) -> Collected:
    """A dry run on this machine, which a cluster reports in the same way."""
    here = lake.collect(replace(plan, dry_run=True))
    cluster = Scattered(lake.world.stores, into=3)
    there = collect(replace(lake.world.stores(), cluster=cluster), lake.record, replace(plan, dry_run=True))
    assert cluster.done == [3]
    assert there == here
    return here


@pytest.mark.parametrize("written", [parquet, parquet_by_manifest, csv_by_manifest])
def test_a_current_inventory_gives_what_a_listing_gives(lake: Lake, tmp_path: Path, written: Written) -> None:
    uri = written(tmp_path / "inventory", rows(lake))
    plan = CollectionPlan(inventory=uri)
    listed = lake.collect(CollectionPlan(dry_run=True))
    assert both(lake, plan) == listed
    assert lake.collect(plan).condemned == listed.condemned == 6
    lake.sleep(GRACE)
    assert lake.collect(plan).deleted == 6
    assert lake.branch().read("x") == b"......"


@pytest.mark.parametrize("written", [parquet, csv_by_manifest])
def test_objects_that_are_gone_or_new_are_left_alone(lake: Lake, tmp_path: Path, written: Written) -> None:
    """An object was deleted after the inventory was made, one was written again, and one is not in the inventory."""
    plan = CollectionPlan(inventory=written(tmp_path / "inventory", rows(lake)))
    lost = sorted(lake.objects - {lake.branch().get("x").address})
    (lake.root / lost[0]).unlink()
    (lake.root / lost[1]).write_bytes(b"again")
    moment = (lake.world.clock.time - timedelta(hours=1)).timestamp()
    os.utime(lake.root / lost[1], (moment, moment))
    lake.branch().upload("y", b"not in the inventory")
    done = both(lake, plan)
    assert (done.condemned, done.young, done.young_size, done.named) == (4, 1, 5, 1)
    lake.collect(plan)
    lake.sleep(GRACE)
    assert lake.collect(plan).deleted == 4
    assert both(lake, plan).condemned == 0, "the inventory still lists what was deleted"
    assert lost[1] in lake.objects


def test_the_size_is_that_of_the_object(lake: Lake, tmp_path: Path) -> None:
    found = rows(lake)
    found["size"] = [1_000] * len(found["size"])
    done = both(lake, CollectionPlan(inventory=parquet(tmp_path / "inventory", found)))
    assert (done.condemned_size, done.named_size) == (15 + 4, 1_000)


def test_versions_of_an_object_count_once(lake: Lake, tmp_path: Path) -> None:
    found = {name: values * 2 for name, values in rows(lake).items()}
    done = both(lake, CollectionPlan(inventory=parquet(tmp_path / "inventory", found)))
    assert (done.condemned, done.named) == (6, 1)


def test_what_is_wrong_with_an_inventory(lake: Lake, tmp_path: Path) -> None:
    found = rows(lake)
    del found["last_modified_date"]
    for uri, error, text in [
        (parquet(tmp_path / "undated", found), InvalidInput, "does not tell when objects were written"),
        ((tmp_path / "none").as_uri(), NotFound, "no Parquet files"),
        ((tmp_path / "none" / "manifest.json").as_uri(), NotFound, "manifest.json"),
        (manifest(tmp_path / "orc", "ORC", "", ["x.orc"]), InvalidInput, "format 'ORC' of the files: must be CSV"),
        (manifest(tmp_path / "columns", "CSV", "Bucket, Key", ["x.csv.gz"]), NotFound, "x.csv.gz"),
    ]:
        with pytest.raises(error, match=text):
            lake.collect(CollectionPlan(inventory=uri))
    (tmp_path / "columns" / "data").mkdir()
    (tmp_path / "columns" / "data" / "x.csv.gz").write_bytes(gzip.compress(b'"","a"\n'))
    with pytest.raises(InvalidInput, match="lacks the column 'size'; it has bucket, key"):
        lake.collect(CollectionPlan(inventory=(tmp_path / "columns/2026-01-01T01-00Z/manifest.json").as_uri()))
    uri = csv_by_manifest(tmp_path / "inventory", rows(lake))
    (tmp_path / "inventory" / "data" / "0.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(InvalidInput, match="is not a readable CSV file"):
        lake.collect(CollectionPlan(inventory=uri))
    file = tmp_path / "columns" / "2026-01-01T01-00Z" / "manifest.json"
    file.write_text("{}")
    with pytest.raises(InvalidInput, match="is not a manifest of S3 Inventory"):
        lake.collect(CollectionPlan(inventory=file.as_uri()))
    assert len(lake.objects) == 7


def damaged(data: bytes) -> bytes:
    """The head of a file of gzip, and no compressed data behind it."""
    return data[:10] + b"\xff" * (len(data) - 10)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (damaged(gzip.compress(b'"a","true","1",""\n')), "file 'data/0.csv.gz' is not a readable CSV file"),
        (gzip.compress(b'"a%20b","true","1",""\n"","true","1",""\n'), "column 'key': must not hold nulls"),
        (gzip.compress(b'"a","true","1",""\n"","true","1",""\n'), "column 'key': must not hold nulls"),
    ],
    ids=["not compressed data", "an empty key beside an encoded one", "an empty key"],
)
def test_damaged_files_are_refused(lake: Lake, tmp_path: Path, content: bytes, text: str) -> None:
    uri = csv_by_manifest(tmp_path / "inventory", rows(lake))
    (tmp_path / "inventory" / "data" / "0.csv.gz").write_bytes(content)
    with pytest.raises(InvalidInput, match=text):
        lake.collect(CollectionPlan(inventory=uri))


def test_a_manifest_names_only_files_beside_it(lake: Lake, tmp_path: Path) -> None:
    uri = csv_by_manifest(tmp_path / "inventory", rows(lake))
    file = tmp_path / "inventory" / "2026-01-01T01-00Z" / "manifest.json"
    for before, after in [("inventory/data", "elsewhere/data"), ("arn:aws:s3:::", "arn:aws:s3:::other")]:
        text = file.read_text()
        file.write_text(text.replace(before, after))
        with pytest.raises(InvalidInput, match="must be below"):
            lake.collect(CollectionPlan(inventory=uri))
        file.write_text(text)
