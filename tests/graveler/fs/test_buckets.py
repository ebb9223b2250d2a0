"""Transfers to and from a bucket: requests for each object, requests at once, signed URLs, and foreign objects."""

from __future__ import annotations

import threading
import urllib.request
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import obstore
import pytest
from obstore.store import S3Store

import graveler
from graveler_core.blobs.port import Data
from graveler_core.blobs.remote import RemoteBlobs
from graveler_core.cli.app import run
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.local.concurrent import AT_ONCE
from tests.s3_server import S3Server


@pytest.fixture
def store(tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    variables = {"ENDPOINT_URL": s3.endpoint, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "ALLOW_HTTP": "true"}
    for name, value in {**variables, "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def bucket(s3: S3Server) -> str:
    return s3.make_bucket(f"bucket-{uuid4().hex[:12]}")


def created(g: Graveler, bucket: str) -> Repository:
    return g.create_repository("flights", f"s3://{bucket}/flights")


def test_a_directory_is_put_by_one_request_an_object_and_sixteen_at_once(
    store: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with graveler.connect(store) as g:
        created(g, bucket)
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3 * AT_ONCE):
        (source / f"{number:02}").write_bytes(b"%d" % number)
    together, requests, create = threading.Barrier(AT_ONCE), Counter[str](), RemoteBlobs.create

    def counted(blobs: RemoteBlobs, address: str, data: Data, *, sure: bool = False) -> bool:
        if address.startswith("data/"):
            requests[address] += 1
            together.wait(60)  # passed only when so many requests are under way
        return create(blobs, address, data, sure=sure)

    monkeypatch.setattr(RemoteBlobs, "create", counted)
    assert run(["put", "-r", str(source), "graveler://flights/main/in/", "--store", store]) == 0
    assert sorted(requests.values()) == [1] * 3 * AT_ONCE
    with graveler.connect(store) as g:
        main = g.repository("flights").branch("main")
        assert {entry.path: main.read(entry.path) for entry in main.list()} == {
            f"in/{number:02}": b"%d" % number for number in range(3 * AT_ONCE)
        }


def test_a_signed_url_reads_the_object_without_credentials(store: str, bucket: str) -> None:
    with graveler.connect(store) as g:
        main = created(g, bucket).branch("main")
        main.put("a b/ü", b"content")
        url = main.presign("a b/ü", expires=60)
    assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == ["60"]
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"content"


def test_foreign_objects_are_checked_where_they_are(store: str, bucket: str, s3: S3Server) -> None:
    for key in ("raw/kept", "raw/gone", "raw/short"):
        s3.put(bucket, key, b"content")
    with graveler.connect(store) as g:
        repo = created(g, bucket)
        repo.import_prefix(f"s3://{bucket}/raw/", "main", "in")
        assert not [finding for finding in repo.fsck(data=True) if finding.damage]
        others = S3Store.from_url(f"s3://{bucket}")
        obstore.delete(others, "raw/gone")
        obstore.put(others, "raw/short", b"c")
        damaged = {str(finding.path): finding.trouble for finding in repo.fsck(data=True) if finding.damage}
    assert damaged.keys() == {"in/gone", "in/short"}
    assert damaged["in/gone"] == "missing"
