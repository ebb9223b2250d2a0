"""Entries that mark directories: programs that keep empty directories write them."""

from __future__ import annotations

from contextlib import nullcontext
from io import BytesIO

import pandas as pd
import pytest

from graveler.fs import GravelerFileSystem
from graveler_core.facade.repository import Repository
from tests.graveler.fs.conftest import Place


@pytest.fixture
def marked(repo: Repository) -> Repository:
    """Markers of a directory with files, of one below it, and of an empty one."""
    main = repo.branch("main")
    for path in ("t/", "t/u/", "t/empty/"):
        main.put(path, b"")
    main.commit("Markers")
    return repo


def paths(repo: Repository) -> list[str]:
    return [entry.path for entry in repo.branch("main").list()]


def test_markers_are_directories_and_no_files(fs: GravelerFileSystem, marked: Repository) -> None:
    at = f"{marked.id}/main"
    assert fs.ls(f"{at}/t", detail=False) == [f"{at}/t/1", f"{at}/t/2", f"{at}/t/empty", f"{at}/t/u"]
    assert fs.ls(f"{at}/t/empty") == []
    assert fs.isdir(f"{at}/t/empty")
    files = [f"{at}/t/1", f"{at}/t/2", f"{at}/t/u/3"]
    assert fs.find(f"{at}/t") == fs.find(f"{at}/t", maxdepth=5) == files
    assert fs.find(f"{at}/t/empty") == []
    assert fs.glob(f"{at}/t/**/*") == sorted([*files, f"{at}/t/empty", f"{at}/t/u"])


def test_readers_of_tables_leave_markers_out(local: Place, repo: Repository) -> None:
    content = BytesIO()
    pd.DataFrame({"x": [1, 2]}).to_parquet(content)
    main = repo.branch("main")
    for path in ("table/", "table/y=1/", "table/y=2/"):
        main.put(path, b"")
    main.put("table/y=1/rows.parquet", content.getvalue())
    found = pd.read_parquet(f"graveler://{repo.id}/main/table", storage_options={"store": local.store})
    assert (found["x"].tolist(), found["y"].astype(int).tolist()) == ([1, 2], [1, 1])


@pytest.mark.parametrize("inside", [False, True])
def test_markers_are_removed_with_their_directory(fs: GravelerFileSystem, marked: Repository, inside: bool) -> None:
    with fs.transaction if inside else nullcontext():
        fs.rm(f"{marked.id}/main/t", recursive=True)
    assert paths(marked) == ["a"]


@pytest.mark.parametrize("inside", [False, True])
def test_markers_are_moved_with_their_directory(fs: GravelerFileSystem, marked: Repository, inside: bool) -> None:
    at = f"{marked.id}/main"
    with fs.transaction if inside else nullcontext():
        fs.mv(f"{at}/t", f"{at}/new", recursive=True)
    assert paths(marked) == ["a", "new/", "new/1", "new/2", "new/empty/", "new/u/", "new/u/3"]


def test_markers_are_moved_to_another_repository(local: Place, fs: GravelerFileSystem, marked: Repository) -> None:
    other = local.repository()
    fs.mv(f"{marked.id}/main/t/empty", f"{other.id}/main/empty", recursive=True)
    assert "t/empty/" not in paths(marked)
    assert paths(other) == ["empty/"]
