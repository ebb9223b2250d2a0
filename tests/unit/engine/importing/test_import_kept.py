"""Tests that imported objects survive collections, checks, dumps and the deletion of the repository."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import graveler_core as graveler
from graveler_core.errors import NotFound
from graveler_core.facade.repository import Repository
from tests.unit.engine.importing.sources import written

FILES = {f"d{n % 3}/{n}": b"." * n for n in range(40)}


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with an import on a branch, beside files that nobody names."""
    made = graveler.connect("memory://").create_repository("flights", (tmp_path / "lake").as_uri())
    made.import_prefix(written(tmp_path / "raw", FILES), "main", "in", message="first")
    return made


def held(repo: Repository, ref: str = "main") -> dict[str, bytes]:
    at = repo.at(ref)
    return {entry.path: at.read(entry.path) for entry in at.list()}


def test_collections_delete_no_imported_object(repo: Repository, tmp_path: Path) -> None:
    swept = repo.sweep(grace=timedelta(0), alone=True)
    assert swept.blobs < 10
    assert held(repo) == {f"in/{key}": data for key, data in FILES.items()}
    repo.create_branch("other", "main~1")
    repo.delete_branch("other")
    repo.branch("main").remove_prefix("in/")
    repo.branch("main").commit("forget")
    repo.branch("main").hard_reset("main~2")
    repo.sweep(grace=timedelta(0), alone=True)
    assert {str(p.relative_to(tmp_path / "raw")) for p in (tmp_path / "raw").rglob("*") if p.is_file()} == set(FILES)


def test_checks_find_nothing_wrong(repo: Repository) -> None:
    assert [finding for finding in repo.fsck(deep=True) if finding.damage] == []


def test_what_an_import_leaves_is_what_a_collection_takes(repo: Repository, tmp_path: Path) -> None:
    """The gathered tree is garbage: nothing else is."""
    repo.import_prefix(written(tmp_path / "more", {"x": b"1"}), "main", "in")
    repo.sweep(grace=timedelta(0), alone=True)
    assert list(repo.fsck(deep=True)) == []


def test_dumps_have_it(repo: Repository, tmp_path: Path) -> None:
    dump = (tmp_path / "dump").as_uri()
    repo.dump_refs(dump)
    copy = graveler.connect("memory://").create_bare_repository("copy", repo.storage_namespace, adopt=True)
    copy.restore_refs(dump)
    assert held(copy) == held(repo)


def test_deleting_the_repository(tmp_path: Path) -> None:
    g = graveler.connect("memory://")
    repo = g.create_repository("flights", (tmp_path / "lake").as_uri())
    repo.import_prefix(written(tmp_path / "raw", FILES), "main")
    g.delete_repository("flights")
    g.clean(undelete_within=timedelta(0))
    assert len([p for p in (tmp_path / "raw").rglob("*") if p.is_file()]) == len(FILES)


def test_an_object_that_is_gone(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "raw" / "d1" / "1").unlink()
    with pytest.raises(NotFound, match="raw/d1/1"):
        repo.at("main").read("in/d1/1")
