"""Files and branches that change during a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import Conflict, DirtyBranch, GravelerError, NotFound, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local.committing import commit
from graveler_core.local.index import locked
from graveler_core.local.pulling import pull
from graveler_core.local.status import status
from graveler_core.model.entry import Entry
from tests.unit.local.conftest import START, WORDS, changes, committed, files, remotely


@pytest.mark.parametrize("path", ["b", "new"])
def test_a_pull_replaces_no_change(
    lake: Graveler, repo: Repository, work: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remotely(repo, {f"raw/{path}": "theirs", "raw/a": "theirs"})
    real = Snapshot.download

    def download(self: Snapshot, *arguments: Any, **options: Any) -> Entry:
        (work / path).write_text("mine, just now")
        return real(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Snapshot, "download", download)
        with pytest.raises(Conflict):
            pull(lake, work)
    assert (work / path).read_text() == "mine, just now"
    assert [each[:2] for each in changes(lake, work) if each[0] == path] == [(path, "conflict")]
    pull(lake, work, keep="theirs")
    assert files(work) == committed(repo)


@pytest.mark.parametrize("path", ["a", "new"])
def test_a_file_that_changes_during_a_commit_is_noticed(
    lake: Graveler, repo: Repository, work: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repo.commit("main").id
    (work / "a").write_text("11")
    (work / "new").write_text("4")
    real = Branch.upload

    def upload(self: Branch, *arguments: Any, **options: Any) -> Entry:
        made = real(self, *arguments, **options)
        (work / path).write_text("changed meanwhile")
        return made

    with monkeypatch.context() as patched:
        patched.setattr(Branch, "upload", upload)
        with pytest.raises(Conflict, match="was changed while"):
            commit(lake, work, WORDS)
    assert repo.commit("main").id == head
    commit(lake, work, WORDS)
    assert committed(repo) == files(work)


def test_a_commit_of_somebody_else_at_the_last_moment(
    lake: Graveler, repo: Repository, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a").write_text("mine")
    real = Branch.transact

    def transact(self: Branch, *arguments: Any, **options: Any) -> object:
        with monkeypatch.context() as patched:
            patched.setattr(Branch, "transact", real)
            remotely(repo, {"raw/a": "theirs"})
        return real(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Branch, "transact", transact)
        with pytest.raises(Conflict):
            commit(lake, work, WORDS)
    assert committed(repo)["a"] == "theirs"
    assert changes(lake, work) == [("a", "conflict", "changed")]


def test_staged_changes_of_the_same_paths(lake: Graveler, repo: Repository, work: Path) -> None:
    repo.branch("main").put("raw/a", b"staged")
    (work / "a").write_text("mine")
    with pytest.raises(DirtyBranch):
        commit(lake, work, WORDS)
    (work / "a").write_text("1")
    (work / "b").write_text("mine")
    commit(lake, work, WORDS)
    assert repo.branch("main").read("raw/a") == b"staged"


def test_one_command_at_a_time(lake: Graveler, work: Path) -> None:
    for flow in (lambda: pull(lake, work), lambda: status(lake, work), lambda: commit(lake, work, WORDS)):
        with locked(work), pytest.raises(SlowDown, match="another graveler local command"):
            flow()


def test_another_repository_of_the_same_name(lake: Graveler, repo: Repository, work: Path) -> None:
    lake.delete_repository("air")
    lake.create_repository("air", storage_namespace="memory://another-air")
    with pytest.raises(NotFound, match="another one"):
        pull(lake, work)
    assert files(work) == START


@pytest.mark.parametrize("text", ["", "{}", '{"version": 2}', "[]"])
def test_a_damaged_index_is_explained(lake: Graveler, work: Path, text: str) -> None:
    (work / ".graveler/local.json").write_text(text)
    with pytest.raises(GravelerError, match=r"local\.json"):
        status(lake, work)
    assert files(work) == START
