"""Files that receive a download: complete, or as they were."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graveler_core.local.file_output import complete_file, ignores_case


def interrupted(destination: Path) -> None:
    """Write a part of a file, and fail."""

    def write() -> None:
        with complete_file(destination) as file:
            file.write(b"part")
            file.flush()
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        write()


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    destination = tmp_path / "file"
    with complete_file(destination) as file:
        file.write(b"content")
        file.flush()
        assert not destination.exists()
    assert destination.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [destination]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    destination = tmp_path / "file"
    destination.write_bytes(b"mine")
    interrupted(destination)
    assert destination.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [destination]


def test_a_link_to_a_file_is_replaced(tmp_path: Path) -> None:
    """The file that the link names may be outside of the directory of a download."""
    (tmp_path / "elsewhere").write_bytes(b"mine")
    destination = tmp_path / "link"
    destination.symlink_to(tmp_path / "elsewhere")
    with complete_file(destination) as file:
        file.write(b"content")
    assert not destination.is_symlink()
    assert destination.read_bytes() == b"content"
    assert (tmp_path / "elsewhere").read_bytes() == b"mine"


@pytest.mark.parametrize("link", [False, True], ids=["pipe", "link to a pipe"])
def test_a_pipe_is_written_in_place(tmp_path: Path, link: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    destination = pipe
    if link:
        destination = tmp_path / "link"
        destination.symlink_to(pipe)
    before = sorted(tmp_path.iterdir())
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pipe.read_bytes)
        with complete_file(destination) as file:
            file.write(b"content")
        assert received.result(30) == b"content"
        received = reader.submit(pipe.read_bytes)
        interrupted(destination)
        assert received.result(30) == b"part"
    assert stat.S_ISFIFO(destination.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == before


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        complete_file(tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_ignores_case_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ignores_case(tmp_path / "not" / "yet")

    def lexists(path: Path) -> bool:
        return path.name.casefold() in {each.name.casefold() for each in path.parent.iterdir()}

    monkeypatch.setattr(os.path, "lexists", lexists)
    assert ignores_case(tmp_path / "not" / "yet")
    assert list(tmp_path.iterdir()) == []
