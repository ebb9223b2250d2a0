"""Tests of local directories: links, crashes, syncing, and foreign files in them."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from graveler_core.blobs.addresses import TEMPORARY
from graveler_core.blobs.local import LocalBlobs
from graveler_core.errors import InvalidInput, NotFound, NotUnique, Unavailable
from graveler_core.model.address import namespace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "repo"


@pytest.fixture
def blobs(root: Path) -> LocalBlobs:
    return LocalBlobs(namespace(root.as_uri()))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the namespace with a file in it."""
    place = tmp_path / "repo2"
    place.mkdir()
    (place / "secret").write_bytes(b"secret")
    return place


def _addresses(blobs: LocalBlobs) -> list[str]:
    return [info.address for info in blobs.list()]


def test_opening_makes_nothing(root: Path, blobs: LocalBlobs) -> None:
    assert blobs.head("a") is None
    assert _addresses(blobs) == []
    assert not root.exists()


def test_an_upload_does_not_overwrite(root: Path, blobs: LocalBlobs) -> None:
    blobs.create("a", b"first")
    with pytest.raises(NotUnique, match="repo/a: already exists"):
        blobs.upload("a", [b"second"])
    assert blobs.read("a") == b"first"


@pytest.mark.parametrize("target", ["directory", "file"])
def test_no_link_leads_out(root: Path, outside: Path, blobs: LocalBlobs, target: str) -> None:
    blobs.create("inside", b"1")
    (root / "link").symlink_to(outside if target == "directory" else outside / "secret")
    address = "link/secret" if target == "directory" else "link"
    for verb in (blobs.read, blobs.head, blobs.renew, blobs.delete, lambda a: blobs.create(a, b"x")):
        with pytest.raises(InvalidInput, match="symbolic link"):
            verb(address)
    if target == "directory":
        with pytest.raises(InvalidInput, match="symbolic link"):
            blobs.create("link/new/deep", b"x")
        assert list(blobs.list("link/")) == []
    assert _addresses(blobs) == ["inside"]
    assert (outside / "secret").read_bytes() == b"secret"
    assert [p.name for p in outside.iterdir()] == ["secret"]


def test_a_link_for_the_temporary_directory_leads_nowhere(root: Path, outside: Path, blobs: LocalBlobs) -> None:
    root.mkdir()
    (root / TEMPORARY).symlink_to(outside)
    with pytest.raises(InvalidInput, match="symbolic link"):
        blobs.create("a", b"1")
    assert [p.name for p in outside.iterdir()] == ["secret"]


def test_the_namespace_itself_may_be_a_link(root: Path, outside: Path, blobs: LocalBlobs) -> None:
    root.symlink_to(outside)
    assert blobs.read("secret") == b"secret"
    assert blobs.create("a", b"1")
    assert _addresses(blobs) == ["a", "secret"]


def test_other_things_than_files_are_no_objects(root: Path, blobs: LocalBlobs) -> None:
    blobs.create("a", b"1")
    os.mkfifo(root / "pipe")
    (root / "empty").mkdir()
    (root / os.fsdecode(b"not-\xff-text")).write_bytes(b"")
    assert blobs.head("pipe") is None
    assert blobs.head("empty") is None
    assert _addresses(blobs) == ["a"]
    with pytest.raises(InvalidInput, match="is a directory"):
        blobs.create("empty", b"")
    with pytest.raises(InvalidInput, match="is an object"):
        blobs.create("a/below", b"")
    assert blobs.read("a") == b"1"


def test_a_socket_is_no_object(root: Path, blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    monkeypatch.chdir(root)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("socket")
        assert _addresses(blobs) == []
        assert blobs.head("socket") is None
        with pytest.raises(NotFound):
            blobs.read("socket")


def test_makes_directories_that_someone_removed(root: Path, blobs: LocalBlobs) -> None:
    assert blobs.create("d/a", b"1")
    (root / "d" / "a").unlink()
    (root / "d").rmdir()
    assert blobs.create("d/b", b"2")
    assert _addresses(blobs) == ["d/b"]


def test_etag_and_bytes_stay_when_renewed(root: Path, blobs: LocalBlobs) -> None:
    blobs.create("a", b"1")
    os.utime(root / "a", (1, 1))
    before = blobs.head("a")
    assert blobs.renew("a")
    after = blobs.head("a")
    assert before is not None
    assert after is not None
    assert after.etag == before.etag
    assert after.mtime.year > before.mtime.year == 1970


def test_ordinary_permissions(root: Path, blobs: LocalBlobs) -> None:
    """As other programs make files, so that those who share a directory can read them."""
    blobs.create("a", b"1")
    (root / "b").write_bytes(b"")
    assert stat.S_IMODE((root / "a").stat().st_mode) == stat.S_IMODE((root / "b").stat().st_mode)


def test_a_namespace_that_is_a_file(root: Path, blobs: LocalBlobs) -> None:
    root.write_bytes(b"no directory")
    for verb in (blobs.read, lambda a: blobs.create(a, b"1")):
        with pytest.raises(Unavailable, match=r"ENOTDIR|EEXIST"):
            verb("a")
    assert root.read_bytes() == b"no directory"
