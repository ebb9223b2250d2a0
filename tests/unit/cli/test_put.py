"""Tests of the destinations of local files, and of the errors before anything is uploaded."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from graveler_core.cli import put
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.errors import InvalidInput


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    (root / "raw" / "deep").mkdir(parents=True)
    (root / "b.txt").write_bytes(b"bb")
    (root / "raw" / "a.txt").write_bytes(b"a")
    (root / "raw" / "deep" / "empty").write_bytes(b"")
    return root


@pytest.mark.parametrize(("path", "below"), [("", ""), ("in", "in/"), ("in/", "in/"), ("in/here", "in/here/")])
def test_a_directory_goes_below_the_path(directory: Path, path: str, below: str) -> None:
    uploads = put.directory_uploads(directory, path)
    found = {(upload.path, upload.size) for upload in uploads}
    assert found == {(f"{below}b.txt", 2), (f"{below}raw/a.txt", 1), (f"{below}raw/deep/empty", 0)}


@pytest.mark.parametrize(
    ("path", "goes_to"), [("", "b.txt"), ("in/", "in/b.txt"), ("in", "in"), ("x/y.txt", "x/y.txt")]
)
def test_a_file_takes_its_name_along_into_a_directory(directory: Path, path: str, goes_to: str) -> None:
    assert put.file_upload(directory / "b.txt", path).path == goes_to


def test_what_is_no_file_is_left_out_of_a_directory_and_named(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(directory / "pipe")
    (directory / "dangling").symlink_to("nowhere")
    (directory / "link.txt").symlink_to("b.txt")
    (directory / "raw" / "here").symlink_to("deep")
    assert {upload.path for upload in put.directory_uploads(directory, "")} >= {"b.txt", "link.txt"}
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"skipped '{directory / 'dangling'}': it is not a regular file",
        f"skipped '{directory / 'pipe'}': it is not a regular file",
        f"skipped '{directory / 'raw' / 'here'}': symbolic links to directories are not followed",
    ]
    assert not {upload.path for upload in put.directory_uploads(directory, "")} & {"pipe", "dangling", "raw/here/empty"}


def test_files_of_graveler_itself_are_left_out_of_a_directory(directory: Path) -> None:
    for folder in (".graveler", "raw/.graveler/data", "raw/.graveler-notes"):
        (directory / folder).mkdir(parents=True)
        (directory / folder / "file").write_bytes(b"x")
    found = [upload.path for upload in put.directory_uploads(directory, "")]
    assert found == ["b.txt", "raw/a.txt", "raw/.graveler-notes/file", "raw/deep/empty"]


def test_refuses_what_is_not_what_the_option_says(directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    with pytest.raises(InvalidInput, match="give -r"):
        put.file_upload(directory, "x")
    with pytest.raises(InvalidInput, match="regular file"):
        put.file_upload(directory / "pipe", "x")
    with pytest.raises(InvalidInput, match="must be an existing directory"):
        put.directory_uploads(directory / "b.txt", "x")
    with pytest.raises(FileNotFoundError):
        put.file_upload(directory / "absent", "x")


def test_refuses_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="contains no files"):
        put.directory_uploads(tmp_path, "x")


def test_checks_every_name_before_the_first_upload(directory: Path) -> None:
    os.close(os.open(os.fsencode(directory) + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    with pytest.raises(InvalidInput, match="valid Unicode"):
        put.directory_uploads(directory, "x")


def test_a_counted_file_reads_the_same_and_tells_how_far() -> None:
    content = bytes(range(256)) * 1_000
    progress = Progress(ProgressWork("uploading", len(content)), stream=io.StringIO())
    file = io.BufferedReader(put.CountedFile(io.BytesIO(content), progress))
    assert file.read(10) == content[:10]
    assert file.read() == content[10:]
    assert progress.done == len(content)
    file.seek(0)
    assert progress.done == 0
    assert file.read() == content
    assert progress.done == len(content)
