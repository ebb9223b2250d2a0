"""Overwrites, resets, a deletion and a cleaning leave no byte that nothing needs, in a directory and on S3."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from graveler_core.blobs.open import OpenedBlobs
from tests.integration.command_line import Cli, put
from tests.s3_server import S3Server

REPOSITORY, MAIN = "graveler://flights", "graveler://flights/main"
NOW = ("--grace", "0s", "--alone", "--yes")


@pytest.fixture(params=["directory", "s3"])
def namespace(request: pytest.FixtureRequest, here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """URI of an empty storage namespace."""
    if request.param == "directory":
        return (here / "lake").as_uri()
    server: S3Server = request.getfixturevalue("s3")
    for name, value in {
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    return f"s3://{server.make_bucket(f'b{uuid4().hex}')}/lake"


def test_nothing_is_left_that_nothing_needs(cli: Cli, namespace: str) -> None:
    blobs = OpenedBlobs(durable=False).at(namespace)
    assert cli("repo", "create", REPOSITORY, "--storage-namespace", namespace).code == 0
    for number in range(20):
        put(cli, "x", b"version %d" % number)
    assert cli("commit", MAIN, "-m", "the last of twenty").code == 0
    for number in range(20):
        put(cli, f"y/{number}", b"reset")
        assert cli("reset", MAIN, "--yes").code == 0
    assert len(list(blobs.list("data/"))) == 40
    assert cli("gc", REPOSITORY, "--data", *NOW).out.startswith("deleted 39 objects")
    (kept,) = blobs.list("data/")
    assert blobs.read(kept.address) == b"version 19"
    assert cli("cat", f"{MAIN}/x").out == "version 19"
    assert cli("repo", "delete", REPOSITORY, "--yes").code == 0
    assert cli("clean", "--undelete-within", "0s", "--data", *NOW).code == 0
    assert list(blobs.list()) == []
    assert cli("repo", "create", REPOSITORY, "--storage-namespace", namespace).code == 0
