"""Tests of uploads that exceed the memory: the file is mapped, as for dumps, for every kind of store."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from graveler_core.blobs.open import open_blobs
from graveler_core.blobs.port import Blobs
from graveler_core.blobs.remote import REQUEST_BYTES
from graveler_core.errors import NotUnique
from graveler_core.transfer.files import PIECE_BYTES, WHOLE_BYTES, DumpFile, Pieces
from tests.s3_server import S3Server

CONTENT = bytes(range(256)) * (PIECE_BYTES // 100)
"""More than two pieces."""


@pytest.fixture(params=["file", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3")
        return open_blobs(f"s3://{server.make_bucket(f'dumps-{uuid4().hex}')}", server.options)
    return open_blobs(tmp_path.as_uri() if request.param == "file" else f"memory://{uuid4().hex}")


@pytest.fixture(params=[0, WHOLE_BYTES], ids=["parts", "whole"], autouse=True)
def whole_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit of the dumps that are stored by one request."""
    monkeypatch.setattr("graveler_core.transfer.files.WHOLE_BYTES", request.param)


def test_a_file_is_written_whole_and_read_in_pieces(blobs: Blobs) -> None:
    file = DumpFile(blobs, "a.dump")
    with file.created() as target:
        for start in range(0, len(CONTENT), 1_000_000):
            target.write(CONTENT[start : start + 1_000_000])
        assert blobs.head("a.dump") is None
    pieces = Pieces(file)
    assert pieces.size == file.size() == len(CONTENT)
    assert pieces.take(10) + pieces.take(PIECE_BYTES + 7) == CONTENT[: PIECE_BYTES + 17]
    assert pieces.take(len(CONTENT)) == CONTENT[PIECE_BYTES + 17 :]
    assert (pieces.take(1), pieces.at) == (b"", len(CONTENT))


def test_nothing_is_left_of_one_that_failed(blobs: Blobs) -> None:
    file = DumpFile(blobs, "a.dump")

    def broken_off() -> None:
        with file.created() as target:
            target.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert not list(blobs.list())


def test_nothing_is_overwritten(blobs: Blobs) -> None:
    """Neither what was there before, nor what came meanwhile."""
    file = DumpFile(blobs, "a.dump")

    def second() -> None:
        with file.created() as target:
            target.write(b"second")
            blobs.create("a.dump", b"first")

    for _ in range(2):
        with pytest.raises(NotUnique):
            second()
    assert blobs.read("a.dump") == b"first"


def test_a_large_file_is_sent_by_several_requests(s3: S3Server) -> None:
    """The time of each request is limited, and a slow line must send it in this time."""
    blobs = open_blobs(f"s3://{s3.make_bucket(f'dumps-{uuid4().hex}')}", s3.options)
    with DumpFile(blobs, "a.dump").created() as target:
        target.write(bytes(REQUEST_BYTES + 1))
    found = blobs.head("a.dump")
    assert found is not None
    assert found.size == REQUEST_BYTES + 1
    assert str(found.etag).strip('"').endswith("-2"), "the ETag tells the number of parts"
