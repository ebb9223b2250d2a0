"""Clone, status, pull, commit and checkout: what travels, what stays, what is refused."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NoChanges, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local import scanning
from graveler_core.local.committing import commit
from graveler_core.local.index import read_index, root_of, write_index
from graveler_core.local.pulling import checkout, clone, pull
from graveler_core.model.entry import Entry
from tests.unit.local.conftest import START, WORDS, changes, committed, files, remotely


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths whose content was downloaded."""
    seen, real = list[str](), Snapshot.download

    def download(self: Snapshot, path: str, *arguments: Any, **options: Any) -> Entry:
        seen.append(path)
        return real(self, path, *arguments, **options)

    monkeypatch.setattr(Snapshot, "download", download)
    return seen


def test_a_clone_has_the_files_below_the_prefix(lake: Graveler, repo: Repository, work: Path) -> None:
    assert files(work) == START
    assert changes(lake, work) == []
    index = read_index(work)
    assert (index.repository, index.ref, index.prefix, index.commit) == ("air", "main", "raw/", repo.commit("main").id)
    assert root_of(work / "s") == work


def test_a_clone_needs_an_empty_directory(lake: Graveler, work: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a clone already"):
        clone(lake, ("air", "main", "raw/"), work)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("x")
    with pytest.raises(InvalidInput, match="must be empty"):
        clone(lake, ("air", "main", ""), tmp_path / "full")
    with pytest.raises(NotFound):
        clone(lake, ("air", "nowhere", ""), tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(InvalidInput, match="follows no branch"):
        root_of(tmp_path)


def test_only_differences_travel(lake: Graveler, repo: Repository, work: Path, downloads: list[str]) -> None:
    remotely(repo, {"raw/b": "22", "raw/s/c": None, "raw/new/d": "4", "other": "5"})
    assert changes(lake, work) == [
        ("b", "remote", "changed"),
        ("new/d", "remote", "added"),
        ("s/c", "remote", "removed"),
    ]
    done = pull(lake, work)
    assert (done.downloaded, done.removed, sorted(downloads)) == (["b", "new/d"], ["s/c"], ["raw/b", "raw/new/d"])
    assert files(work) == {"a": "1", "b": "22", "new/d": "4"}
    assert not (work / "s").exists()
    assert changes(lake, work) == []
    assert pull(lake, work).downloaded == []


def test_contents_are_read_only_where_a_file_was_touched(
    lake: Graveler, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, real = list[str](), scanning.checksum_of

    def checksum_of(place: Path) -> str:
        read.append(place.name)
        return real(place)

    for name in START:  # long ago, as files are that have been there for a while
        os.utime(work / name, ns=(10**18, 10**18))
    assert changes(lake, work) == []
    monkeypatch.setattr(scanning, "checksum_of", checksum_of)
    assert changes(lake, work) == []
    assert read == []
    (work / "a").touch()
    (work / "b").write_text("222")
    assert changes(lake, work) == [("b", "local", "changed")]
    assert read == ["a"]


def test_local_changes_are_one_commit(lake: Graveler, repo: Repository, work: Path) -> None:
    (work / "a").write_text("11")
    (work / "s/c").unlink()
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/d").write_text("4")
    head = repo.commit("main").id
    done = commit(lake, work, WORDS)
    assert (done.uploaded, done.removed) == (["a", "deep/er/d"], ["s/c"])
    assert done.commit.parents == (head,)
    assert (done.commit.message, done.commit.committer) == ("mine", "ada")
    assert committed(repo) == files(work) == {"a": "11", "b": "2", "deep/er/d": "4"}
    assert repo.at("main").read("other") == b"0"
    assert changes(lake, work) == []
    with pytest.raises(NoChanges):
        commit(lake, work, WORDS)


def test_a_commit_keeps_what_others_have_committed(lake: Graveler, repo: Repository, work: Path) -> None:
    remotely(repo, {"raw/b": "22", "raw/new": "4"})
    (work / "a").write_text("11")
    commit(lake, work, WORDS)
    assert committed(repo) == {"a": "11", "b": "22", "new": "4", "s/c": "3"}
    assert changes(lake, work) == [("b", "remote", "changed"), ("new", "remote", "added")]
    pull(lake, work)
    assert files(work) == committed(repo)


def test_a_changed_file_keeps_the_other_attributes_of_its_entry(lake: Graveler, repo: Repository, work: Path) -> None:
    main, id = repo.branch("main"), uuid.UUID(int=7)
    uploaded = main.upload("raw/a", b"migrated")
    main.stage("raw/a", replace(uploaded, content_type="text/csv", metadata={"by": "ada"}, payload=3, content_id=id))
    main.commit("of a migration")
    pull(lake, work)
    (work / "a").write_text("mine")
    assert commit(lake, work, WORDS).uploaded == ["a"]
    entry = repo.at("main").get("raw/a")
    assert (entry.content_type, entry.metadata) == ("text/csv", {"by": "ada"})
    assert (entry.payload, entry.content_id) == (3, id)


LOCAL = {"a": "mine", "b": None, "new": "mine", "same": "equal", "s/c": None}
REMOTE = {"raw/a": "theirs", "raw/b": "theirs", "raw/new": "theirs", "raw/same": "equal", "raw/s/c": None}


@pytest.fixture
def apart(repo: Repository, work: Path) -> Path:
    """Both sides changed five paths, two of them alike."""
    for path, content in LOCAL.items():
        if content is None:
            (work / path).unlink()
        else:
            (work / path).write_text(content)
    remotely(repo, REMOTE)
    return work


def test_conflicts_change_nothing(lake: Graveler, repo: Repository, apart: Path) -> None:
    before, head = files(apart), repo.commit("main").id
    for flow in (lambda: pull(lake, apart), lambda: commit(lake, apart, WORDS)):
        with pytest.raises(Conflict) as refused:
            flow()
        assert (refused.value.kind, refused.value.details["paths"]) == (Kind.LocalConflict, ["a", "b", "new"])
        assert (files(apart), repo.commit("main").id) == (before, head)
    assert changes(lake, apart) == [
        ("a", "conflict", "changed"),
        ("b", "conflict", "removed"),
        ("new", "conflict", "added"),
    ]


def test_their_side_replaces_ours(lake: Graveler, repo: Repository, apart: Path) -> None:
    pull(lake, apart, keep="theirs")
    assert files(apart) == committed(repo)
    assert changes(lake, apart) == []


def test_our_side_is_a_change_of_theirs(lake: Graveler, repo: Repository, apart: Path) -> None:
    before = files(apart)
    pull(lake, apart, keep="ours")
    assert files(apart) == before
    assert changes(lake, apart) == [("a", "local", "changed"), ("b", "local", "removed"), ("new", "local", "changed")]
    commit(lake, apart, WORDS)
    assert committed(repo) == before
    assert changes(lake, apart) == []


def test_a_removal_on_their_side_can_be_undone(lake: Graveler, repo: Repository, work: Path) -> None:
    (work / "a").write_text("mine")
    remotely(repo, {"raw/a": None})
    pull(lake, work, keep="ours")
    assert changes(lake, work) == [("a", "local", "added")]
    commit(lake, work, WORDS)
    assert committed(repo) == START | {"a": "mine"}


def test_content_without_a_checksum_of_ours_is_compared(
    lake: Graveler, repo: Repository, work: Path, downloads: list[str]
) -> None:
    main = repo.branch("main")
    uploaded = main.upload("raw/x", b"equal")
    for path in ("raw/x", "raw/y"):
        main.stage(path, Entry(address=uploaded.address, size=5))
    main.commit("imported")
    (work / "x").write_text("equal")
    (work / "y").write_text("other")
    assert changes(lake, work) == [("y", "conflict", "added")]
    assert sorted(downloads) == ["raw/x", "raw/y"]


@pytest.mark.parametrize("restored", [False, True])
def test_a_change_is_not_forgotten_although_the_time_of_the_file_stays(
    lake: Graveler, repo: Repository, work: Path, restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times may be coarse, or a program may restore them, also after the change was found."""
    index = read_index(work)
    times = (work / "a").stat().st_mtime_ns, index.files["a"].mtime
    write_index(work, replace(index, written=times[1]))
    (work / "a").write_text("x")
    if not restored:
        os.utime(work / "a", ns=times)
    (work / "b").touch()
    monkeypatch.setattr(scanning, "now", lambda: time.time_ns() + 10**10)
    assert changes(lake, work) == [("a", "local", "changed")]
    os.utime(work / "a", ns=times)
    assert changes(lake, work) == [("a", "local", "changed")]
    (work / "a").write_text("1")
    assert changes(lake, work) == []
    (work / "a").write_text("x")
    os.utime(work / "a", ns=times)
    remotely(repo, {"raw/a": "y", "raw/b": "22"})
    with pytest.raises(Conflict):
        pull(lake, work)
    assert files(work)["a"] == "x"


class TestCheckout:
    """Another ref in the same directory."""

    def test_it_brings_the_differences(self, lake: Graveler, repo: Repository, work: Path) -> None:
        repo.create_branch("dev", "main")
        remotely(repo, {"raw/a": "dev", "raw/b": None}, "dev")
        (work / "new").write_text("n")
        with pytest.raises(Conflict, match=r"has local changes \(1\), the first is 'new'"):
            checkout(lake, work, "dev")
        (work / "new").unlink()
        done = checkout(lake, work, "dev")
        assert (done.downloaded, done.removed) == (["a"], ["b"])
        assert files(work) == {"a": "dev", "s/c": "3"}
        (work / "a").write_text("more")
        commit(lake, work, WORDS)
        assert committed(repo, "dev") == files(work)
        assert committed(repo) == START

    def test_discarding_restores_what_the_repository_has(self, lake: Graveler, repo: Repository, work: Path) -> None:
        remotely(repo, {"raw/b": "22"})
        (work / "a").write_text("mine")
        (work / "b").write_text("mine")
        (work / "s/c").unlink()
        (work / "new").write_text("kept")
        checkout(lake, work, "", discard=True)
        assert files(work) == {"a": "1", "b": "22", "s/c": "3", "new": "kept"}

    def test_a_tag_takes_no_commits(self, lake: Graveler, repo: Repository, work: Path) -> None:
        repo.create_tag("v1", "main")
        checkout(lake, work, "v1")
        (work / "a").write_text("mine")
        with pytest.raises(InvalidInput, match="follows 'v1', which is no branch"):
            commit(lake, work, WORDS)
        with pytest.raises(NotFound):
            checkout(lake, work, "nowhere", discard=True)
        assert files(work) == START | {"a": "mine"}


def test_a_kept_file_that_gets_the_content_of_the_branch_is_no_change(
    lake: Graveler, repo: Repository, work: Path
) -> None:
    (work / "a").write_text("mine")
    remotely(repo, {"raw/a": "theirs"})
    pull(lake, work, keep="ours")
    assert changes(lake, work) == [("a", "local", "changed")]
    (work / "a").write_text("theirs")
    assert changes(lake, work) == []
    remotely(repo, {"raw/a": "theirs, later"})
    pull(lake, work)
    assert files(work) == committed(repo)
