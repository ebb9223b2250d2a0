"""Libraries that use fsspec read and write branches."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from graveler.fs import GravelerFileSystem
from graveler_core.facade.repository import Repository
from tests.graveler.fs.conftest import Place

ROWS = {"month": ["01", "01", "02"], "value": [1, 2, 3]}


@pytest.fixture
def repo(local: Place) -> Repository:
    return local.repository()


@pytest.fixture
def fs(local: Place, repo: Repository) -> GravelerFileSystem:
    return local.fs()


@pytest.fixture
def options(local: Place) -> dict[str, Any]:
    return {"store": local.store}


@pytest.fixture
def url(repo: Repository) -> Callable[[str], str]:
    return lambda path: f"graveler://{repo.id}/main/{path}"


def test_pandas(repo: Repository, url: Callable[[str], str], options: dict[str, Any]) -> None:
    import pandas as pd

    frame = pd.DataFrame(ROWS)
    frame.to_parquet(url("t.parquet"), storage_options=options)
    frame.to_csv(url("t.csv"), storage_options=options, index=False)
    frame.to_parquet(url("t"), partition_cols=["month"], storage_options=options)
    repo.branch("main").commit("Tables")
    assert pd.read_parquet(url("t.parquet"), storage_options=options).equals(frame)
    assert list(pd.read_csv(url("t.csv"), storage_options=options)["value"]) == [1, 2, 3]
    found = pd.read_parquet(url("t"), storage_options=options, filters=[("month", "==", 1)])
    assert list(found["value"]) == [1, 2]
    before = f"graveler://{repo.id}/main~1/t.parquet"
    with pytest.raises(FileNotFoundError):
        pd.read_parquet(before, storage_options=options)


def test_pyarrow(repo: Repository, fs: GravelerFileSystem) -> None:
    table = pa.table(ROWS)
    at = f"{repo.id}/main/t"
    for _ in range(2):
        ds.write_dataset(
            table,
            at,
            filesystem=fs,
            format="parquet",
            partitioning=ds.partitioning(pa.schema([("month", pa.string())]), flavor="hive"),
            existing_data_behavior="delete_matching",
        )
    dataset = ds.dataset(at, filesystem=fs, partitioning="hive")
    assert sorted(dataset.to_table(filter=ds.field("month") == 1).column("value").to_pylist()) == [1, 2]
    assert dataset.count_rows() == 3


def test_polars(repo: Repository, fs: GravelerFileSystem) -> None:
    import polars as pl

    frame = pl.DataFrame(ROWS)
    path = f"{repo.id}/main/t.parquet"
    with fs.open(path, "wb") as file:
        frame.write_parquet(file)
    with fs.open(path) as file:
        assert pl.read_parquet(file).equals(frame)
    repo.branch("main").commit("Table")
    assert pl.scan_parquet(repo.at("main").uri("t.parquet")).filter(pl.col("value") > 1).collect().height == 2
    found = pl.scan_pyarrow_dataset(ds.dataset(path, filesystem=fs)).filter(pl.col("value") > 2).collect()
    assert found.height == 1


def test_duckdb(repo: Repository, fs: GravelerFileSystem, url: Callable[[str], str]) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        connection.sql(f"COPY (SELECT * FROM (VALUES (1, 'a'), (2, 'b')) t(n, s)) TO '{url('d/1.parquet')}'")
        connection.sql(f"COPY (SELECT 3 AS n, 'c' AS s) TO '{url('d/2.parquet')}'")
        total = connection.sql(f"SELECT sum(n) FROM read_parquet('{url('d/*.parquet')}')").fetchall()
    assert total == [(6,)]
    assert [item.path for item in repo.branch("main").list("d/")] == ["d/1.parquet", "d/2.parquet"]


def test_dask(repo: Repository, url: Callable[[str], str], options: dict[str, Any]) -> None:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    with dask.config.set(scheduler="threads"):
        frame = dd.from_pandas(pd.DataFrame({"value": range(10)}), npartitions=3)
        frame.to_parquet(url("dask"), storage_options=options)
        assert dd.read_parquet(url("dask"), storage_options=options)["value"].sum().compute() == 45
    assert sum(1 for _ in repo.branch("main").list("dask/part")) == 3


def test_xarray_and_zarr(repo: Repository, url: Callable[[str], str], options: dict[str, Any]) -> None:
    import numpy as np
    import xarray as xr

    data = xr.Dataset({"t": (("x", "y"), np.arange(12.0).reshape(3, 4))})
    data.to_zarr(url("array.zarr"), storage_options=options, mode="w", consolidated=False)
    repo.branch("main").commit("Array")
    found = xr.open_zarr(url("array.zarr"), storage_options=options, consolidated=False)
    assert float(found["t"].sum().compute()) == 66
    found.close()


def test_universal_pathlib_needs_no_file_system_that_was_opened_before() -> None:
    program = "from upath import UPath; assert UPath('graveler://lake/main/t/a').name == 'a'"
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", program], check=True)


def test_universal_pathlib(repo: Repository, url: Callable[[str], str], options: dict[str, Any]) -> None:
    from upath import UPath

    path = UPath(url("dir/file.txt"), **options)
    path.write_text("content")
    assert type(path).__name__ == "GravelerPath"
    assert path.read_text() == "content"
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]
    assert repo.branch("main").read("dir/file.txt") == b"content"
    path.unlink()
    assert not path.exists()


def test_a_column_of_a_parquet_file_in_s3_costs_few_bytes(servers: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups and columns that are not asked for are not transferred."""
    from graveler_core.blobs.remote import RemoteBlobs

    repo = servers.repository()
    table = pa.table({"small": range(200_000), "large": [os.urandom(40) for _ in range(200_000)]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=20_000)
    buffer.seek(0)
    repo.branch("main").put("t.parquet", buffer)
    transferred: list[int] = []
    original = RemoteBlobs.read_range

    def counted(self: RemoteBlobs, address: str, start: int, length: int) -> bytes:
        transferred.append(length)
        return original(self, address, start, length)

    monkeypatch.setattr(RemoteBlobs, "read_range", counted)
    fs = servers.fs()
    dataset = ds.dataset(f"{repo.id}/main/t.parquet", filesystem=fs)
    found = dataset.to_table(columns=["small"], filter=ds.field("small") < 100)
    assert found.num_rows == 100
    assert sum(transferred) < buffer.getbuffer().nbytes / 3
