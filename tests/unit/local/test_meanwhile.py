"""Files and branches that change during a command."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import Conflict, DirtyBranch, GravelerError, InvalidInput, NotFound, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local import committing, pulling, workspace
from graveler_core.local.committing import commit
from graveler_core.local.comparing import Remote, remote_of
from graveler_core.local.index import DirectoryIndex, LocalWork, locked, read_index, write_index
from graveler_core.local.pulling import Side, clone, pull
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


def interrupted(*arguments: object) -> None:
    """Stand for the end of the process."""
    raise KeyboardInterrupt


def refused(repository: Repository, ref: str, prefix: str, *, every: bool = False) -> Remote:
    """Stand for `remote_of` in a store that does not answer after a commit."""
    if every:
        raise Unavailable("the store does not answer")
    return remote_of(repository, ref, prefix)


def full(root: Path, index: DirectoryIndex) -> None:
    """Stand for `write_index` on a disk that is full after a commit."""
    if index.underway is None:
        raise OSError(errno.ENOSPC, "No space left on device")
    write_index(root, index)


@pytest.mark.parametrize("failure", [(committing, "remote_of", refused), (workspace, "write_index", full)])
def test_a_commit_whose_index_cannot_be_completed_was_made(
    lake: Graveler, repo: Repository, work: Path, failure: tuple[object, str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next command completes the index."""
    (work / "a").write_text("mine")
    (work / "b").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(*failure)
        made = commit(lake, work, WORDS)
    assert (made.commit.id, made.uploaded, made.removed) == (repo.commit("main").id, ["a"], ["b"])
    assert read_index(work).underway is not None
    assert changes(lake, work) == []
    assert read_index(work).underway is None


def interposed(repo: Repository, contents: dict[str, str | None], patched: pytest.MonkeyPatch) -> None:
    """Let somebody else commit just before the transaction of a commit."""
    real = Branch.transact

    def transact(self: Branch, *arguments: Any, **options: Any) -> object:
        patched.setattr(Branch, "transact", real)
        remotely(repo, contents)
        return real(self, *arguments, **options)

    patched.setattr(Branch, "transact", transact)


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("paths", [("x/y", "x"), ("x", "x/y"), ("s/c", "s"), ("a", "a/d/e")])
def test_a_file_and_a_directory_of_the_same_name_at_the_last_moment(
    lake: Graveler, work: Path, paths: tuple[str, str], killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch holds both paths. The directory gets the file, and the next commits go on."""
    repo, (mine, theirs) = lake.repository("air"), paths
    place = work / mine
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")
    (work / "b").write_text("mine, too")
    with monkeypatch.context() as patched:
        interposed(repo, {f"raw/{theirs}": "theirs"}, patched)
        if killed:
            patched.setattr(committing, "_states", interrupted)
            with pytest.raises(KeyboardInterrupt):
                commit(lake, work, WORDS)
        else:
            assert commit(lake, work, WORDS).uploaded == sorted(["b", mine])
    both = START | {"b": "mine, too", mine: "mine", theirs: "theirs"}
    assert committed(repo) == both
    file, below = sorted([mine, theirs])
    expected = [(mine, "remote", "removed"), (theirs, "remote", "added")] if file == theirs else []
    assert changes(lake, work) == sorted(expected)
    brought = pull(lake, work)
    assert [each.path for each in brought.skipped] == [below]
    held = {path: content for path, content in both.items() if path != below}
    assert (files(work), changes(lake, work)) == (held, [])
    (work / file).write_text("again")
    commit(lake, work, WORDS)
    assert committed(repo) == both | {file: "again"}


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_change_after_such_a_commit_is_a_conflict(
    lake: Graveler, repo: Repository, work: Path, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "s/c").write_text("mine")
    with monkeypatch.context() as patched:
        interposed(repo, {"raw/s": "theirs"}, patched)
        commit(lake, work, WORDS)
    (work / "s/c").write_text("mine, later")
    with pytest.raises(Conflict) as refused:
        commit(lake, work, WORDS)
    assert refused.value.details["paths"] == ["s/c"]
    pull(lake, work, keep=side)
    later = START | ({"s/c": "mine, later"} if side == "ours" else {"s": "theirs"})
    if side == "theirs":
        del later["s/c"]
    assert files(work) == later
    assert committed(repo) == START | {"s": "theirs", "s/c": "mine"}


def test_a_removed_file_that_somebody_else_changed_at_the_last_moment(
    lake: Graveler, repo: Repository, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory takes the place of a file that was changed."""
    (work / "a").unlink()
    (work / "a").mkdir()
    (work / "a/new").write_text("mine")
    with monkeypatch.context() as patched:
        interposed(repo, {"raw/a": "theirs"}, patched)
        with pytest.raises(Conflict):
            commit(lake, work, WORDS)
    assert committed(repo) == START | {"a": "theirs"}
    assert changes(lake, work) == [("a", "conflict", "removed"), ("a/new", "conflict", "added")]


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


def test_a_file_system_without_locks_is_named(lake: Graveler, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(InvalidInput, match=r"cannot be locked .*No locks available"):
        status(lake, work)


def test_a_commit_that_retention_removed_after_an_interruption(lake: Graveler, repo: Repository, work: Path) -> None:
    index = read_index(work)
    (work / "a").write_text("brought")
    write_index(work, replace(index, underway=LocalWork(commit="0" * len(index.commit))))
    assert changes(lake, work) == [("a", "local", "changed")]
    remotely(repo, {"raw/a": "brought", "raw/b": "22"})
    pull(lake, work)
    assert files(work) == committed(repo)


def test_the_second_of_two_clones_is_refused(
    lake: Graveler, repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "new"
    repo.create_branch("dev", "main")

    @contextmanager
    def later(root: Path) -> Iterator[None]:
        monkeypatch.setattr(pulling, "locked", locked)
        clone(lake, ("air", "main", "raw"), root)
        with locked(root):
            yield

    monkeypatch.setattr(pulling, "locked", later)
    with pytest.raises(InvalidInput, match="is a clone already"):
        clone(lake, ("air", "dev", "raw"), root)
    assert (read_index(root).ref, files(root)) == ("main", START)


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
