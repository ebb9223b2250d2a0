"""Further S3 clients, unchanged: those of this environment, and programs in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import obstore
import polars as pl
import pyarrow as pa
import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store
from pyarrow import parquet
from pyarrow.fs import FileSelector, S3FileSystem

from tests.graveler.server.conftest import Place
from tests.servers.python_environment import python_with

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture
def bucket(place: Place) -> str:
    return place.repository()


@pytest.fixture
def variables(place: Place, bucket: str) -> dict[str, str]:
    """Environment variables that name the server, an access key and a bucket."""
    admin = place.server.admin
    return {
        "AWS_ENDPOINT_URL": place.server.url,
        "AWS_ACCESS_KEY_ID": str(admin.access_key_id),
        "AWS_SECRET_ACCESS_KEY": admin.secret.get_secret_value(),
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "BUCKET": bucket,
    }


def run(python: Path, *arguments: str, variables: dict[str, str]) -> str:
    """Run a program, and return what it prints."""
    done = subprocess.run(
        [python, *arguments], env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=600
    )
    assert not done.returncode, done.stderr[-4_000:]
    return done.stdout


def seen_by(python: Path, program: str, variables: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(python, str(PROGRAMS / program), variables=variables))
    return found


def test_obstore(variables: dict[str, str], bucket: str) -> None:
    store = S3Store(
        bucket,
        endpoint=variables["AWS_ENDPOINT_URL"],
        access_key_id=variables["AWS_ACCESS_KEY_ID"],
        secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        client_options={"allow_http": True},
    )
    large = os.urandom(11 << 20)
    made = obstore.put(store, "main/dir/a b.txt", b"first")
    obstore.put(store, "main/large", large, chunk_size=5 << 20)
    assert bytes(obstore.get(store, "main/large").bytes()) == large
    assert bytes(obstore.get_range(store, "main/large", start=5, end=9)) == large[5:9]
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "main/dir/a b.txt", b"x", mode="create")
    obstore.put(store, "main/dir/a b.txt", b"second", mode={"e_tag": made["e_tag"]})
    with pytest.raises(PreconditionError):
        obstore.put(store, "main/dir/a b.txt", b"third", mode={"e_tag": made["e_tag"]})
    obstore.copy(store, "main/dir/a b.txt", "main/dir/c")
    obstore.rename(store, "main/dir/c", "main/dir/d")
    obstore.delete(store, ["main/dir/a b.txt", "main/dir/none"])
    assert [each["path"] for each in obstore.list(store, "main").collect()] == ["main/dir/d", "main/large"]
    level = obstore.list_with_delimiter(store, "main")
    assert (level["common_prefixes"], [each["path"] for each in level["objects"]]) == (["main/dir"], ["main/large"])
    assert bytes(obstore.get(store, "main/dir/d").bytes()) == b"second"


def test_polars(variables: dict[str, str], bucket: str) -> None:
    options = {
        "aws_endpoint_url": variables["AWS_ENDPOINT_URL"],
        "aws_access_key_id": variables["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": variables["AWS_SECRET_ACCESS_KEY"],
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    frame = pl.DataFrame({"id": range(50_000), "part": ["a", "b"] * 25_000})
    for number in range(2):
        frame.write_parquet(f"s3://{bucket}/main/t/{number}.parquet", storage_options=options)
    found = pl.scan_parquet(f"s3://{bucket}/main/t/*.parquet", storage_options=options)
    assert found.filter(pl.col("part") == "a").select(pl.len()).collect().item() == 50_000


def test_pyarrow(variables: dict[str, str], bucket: str) -> None:
    lake = S3FileSystem(
        endpoint_override=variables["AWS_ENDPOINT_URL"],
        access_key=variables["AWS_ACCESS_KEY_ID"],
        secret_key=variables["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
    )
    table = pa.table({"id": range(10), "part": [0, 1] * 5})
    parquet.write_to_dataset(table, f"{bucket}/main/t", partition_cols=["part"], filesystem=lake)
    assert parquet.read_table(f"{bucket}/main/t", filesystem=lake).num_rows == 10
    lake.create_dir(f"{bucket}/main/t/empty")
    found = lake.get_file_info(FileSelector(f"{bucket}/main/t"))
    assert [each.base_name for each in found] == ["part=0", "part=1"]
    lake.delete_dir(f"{bucket}/main/t")
    assert not lake.get_file_info(FileSelector(f"{bucket}/main/t", allow_not_found=True))


@pytest.mark.slow
def test_s3fs_with_pandas_and_polars(variables: dict[str, str]) -> None:
    python = python_with("s3fs-2026.9.0", "s3fs==2026.9.0", "pandas", "polars", "pyarrow")
    assert seen_by(python, "with_s3fs.py", variables) == {
        "pandas": True,
        "csv": 1_000,
        "polars": [1, 2, 3],
        "range": True,
        "large": True,
        "ls": ["main/dir/three", "main/dir/two"],
        "refs": ["main"],
        "find": [
            "dir/three",
            "dir/two",
            "large",
            "pandas/a b+c.csv",
            "pandas/part=1/a.parquet",
            "polars/b.parquet",
        ],
        "glob": ["pandas/part=1/a.parquet", "polars/b.parquet"],
        "exists": [True, True, False],
        "removed": True,
    }


@pytest.mark.slow
def test_duckdb(variables: dict[str, str]) -> None:
    python = python_with("duckdb-httpfs-1.5.5", "duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5")
    assert seen_by(python, "with_duckdb.py", variables) == {
        "sum": [[4_999_950_000]],
        "range": [[77_777]],
        "glob": [[0, 3], [1, 3], [2, 3]],
        "csv": [[1, "a b"]],
    }


@pytest.mark.slow
def test_the_command_line_of_aws(variables: dict[str, str], bucket: str, tmp_path: Path) -> None:
    python = python_with("awscli-1.46.2", "awscli==1.46.2")

    def aws(*words: str) -> str:
        return run(python, "-m", "awscli", *words, variables=variables)

    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "a b.txt").write_bytes(b"one")
    (tree / "d" / "large").write_bytes(large := os.urandom(17 << 20))
    assert bucket in aws("s3", "ls")
    assert "PRE main/" in aws("s3", "ls", f"s3://{bucket}")
    aws("s3", "sync", str(tree), f"s3://{bucket}/main/tree")
    assert [line.split()[2:] for line in aws("s3", "ls", "--recursive", f"s3://{bucket}/main/").splitlines()] == [
        ["3", "main/tree/a", "b.txt"],
        [str(len(large)), "main/tree/d/large"],
    ]
    assert not aws("s3", "sync", str(tree), f"s3://{bucket}/main/tree")  # nothing has changed
    aws("s3", "mv", f"s3://{bucket}/main/tree/a b.txt", f"s3://{bucket}/main/b.txt")
    aws("s3", "cp", "--recursive", f"s3://{bucket}/main/", str(tmp_path / "back"))
    assert (tmp_path / "back" / "tree" / "d" / "large").read_bytes() == large
    assert (tmp_path / "back" / "b.txt").read_bytes() == b"one"
    head = json.loads(aws("s3api", "head-object", "--bucket", bucket, "--key", "main/b.txt"))
    assert head["ContentLength"] == 3
    aws("s3", "rm", "--recursive", f"s3://{bucket}/main/tree/")
    assert [line.split()[-1] for line in aws("s3", "ls", f"s3://{bucket}/main/").splitlines()] == ["b.txt"]
