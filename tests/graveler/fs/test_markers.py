"""Entries that mark directories: programs that keep empty directories write them."""

from __future__ import annotations

from contextlib import nullcontext
from io import BytesIO
from typing import Any

import pandas as pd
import pytest

from graveler.fs import GravelerFileSystem
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository
from tests.graveler.fs.conftest import Place
from tests.old_paths import any_path


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


@pytest.mark.parametrize("below", ["", "/t", "/t/u", "/t/empty", "/a", "/none"])
def test_one_listing_finds_all_files_and_directories(
    fs: GravelerFileSystem, marked: Repository, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked.branch("main").put("deep/er/and/deeper/file", b"")
    at = f"{marked.id}/main{below}"
    by_directory = fs.find(at, maxdepth=9, withdirs=True)
    listed = list[str]()
    list_ = ReadableRef.list

    def counted(self: ReadableRef, prefix: str = "", **options: Any) -> Any:
        listed.append(prefix)
        return list_(self, prefix, **options)

    monkeypatch.setattr(ReadableRef, "list", counted)
    found = fs.find(at, withdirs=True, detail=True)
    assert list(found) == by_directory
    assert len(listed) == 1
    assert {name: info["type"] for name, info in found.items()} == {name: fs.info(name)["type"] for name in found}


def test_a_path_with_an_empty_name_is_found(fs: GravelerFileSystem, repo: Repository) -> None:
    main = repo.branch("main")
    with any_path():
        main.stage("t//x", main.get("a"))
    at = f"{repo.id}/main/t"
    assert f"{at}//x" in fs.find(at)
    assert f"{at}//x" in fs.expand_path(at, recursive=True)


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
