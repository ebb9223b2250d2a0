"""Files and paths that are left out, with a reason; and files that nothing may write."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from graveler_core.errors import Conflict, InvalidInput
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.local.committing import commit
from graveler_core.local.file_output import local_path
from graveler_core.local.names import refusal_of_path
from graveler_core.local.pulling import checkout, clone, init, pull
from graveler_core.local.status import status
from graveler_core.model.changes import ChangeKind
from tests.old_paths import any_path
from tests.unit.local.conftest import START, WORDS, committed, files, remotely


def test_ignored_files(lake: Graveler, repo: Repository, work: Path) -> None:
    (work / ".gravelerignore").write_text("*.tmp\n!keep.tmp\n/build/\na\n")
    for path in ("x.tmp", "keep.tmp", "build/y", "s/build"):
        (work / path).parent.mkdir(exist_ok=True)
        (work / path).write_text("x")
    (work / "a").write_text("tracked files are not ignored")
    commit(lake, work, WORDS)
    assert set(committed(repo)) == {".gravelerignore", "a", "b", "keep.tmp", "s/build", "s/c"}


@pytest.mark.parametrize("content", [b"caf\xe9\n", "*.tmp\n".encode("utf-16"), b"build\\\n", b"!\n", b"[z-a]\n"])
def test_an_ignore_file_that_is_not_valid(lake: Graveler, repo: Repository, work: Path, content: bytes) -> None:
    repo.branch("main").put("raw/.gravelerignore", content)
    repo.branch("main").commit("bad patterns")
    pull(lake, work)
    (work / "new.tmp").write_text("x")
    for flow in (
        lambda: status(lake, work),
        lambda: commit(lake, work, WORDS),
        lambda: checkout(lake, work, "main", discard=True),
    ):
        with pytest.raises(InvalidInput, match=r"\.gravelerignore': must contain .* correct or delete it, or bring"):
            flow()
    remotely(repo, {"raw/.gravelerignore": "*.tmp\n"})
    assert pull(lake, work).downloaded == [".gravelerignore"]
    assert status(lake, work).changes == []


def test_an_ignore_file_may_begin_with_a_byte_order_mark(lake: Graveler, work: Path) -> None:
    (work / ".gravelerignore").write_bytes(b"\xef\xbb\xbf*.tmp\n")
    (work / "new.tmp").write_text("x")
    assert [each.path for each in status(lake, work).changes] == [".gravelerignore"]


def test_only_line_feeds_separate_the_patterns_of_an_ignore_file(lake: Graveler, work: Path) -> None:
    (work / ".gravelerignore").write_bytes("draft\u2028*.tmp\r\nlast.log".encode())
    for name in ("new.tmp", "last.log"):
        (work / name).write_text("x")
    assert [each.path for each in status(lake, work).changes] == [".gravelerignore", "new.tmp"]


def test_an_ignored_directory_is_not_read(lake: Graveler, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, who can read every directory."""
    real = Path.is_file

    def is_file(path: Path) -> bool:
        if "secret" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    (work / "secret").mkdir()
    (work / ".gravelerignore").write_text("secret/\n")
    monkeypatch.setattr(Path, "is_file", is_file)
    assert [each.path for each in status(lake, work).changes] == [".gravelerignore"]


def test_links_and_odd_names(lake: Graveler, repo: Repository, work: Path) -> None:
    (work / "link").symlink_to("/etc/passwd")
    (work / "back\\slash").write_text("x")
    (work / "two\nlines").write_text("x")
    os.mkfifo(work / "pipe")
    with open(os.fsencode(work) + b"/\xff", "w") as file:
        file.write("x")
    (work / "new").write_text("4")
    done = commit(lake, work, WORDS)
    assert set(committed(repo)) == {*START, "new"}
    skipped = {each.path: each.reason for each in done.skipped}
    assert set(skipped) == {"link", "back\\slash", "two\nlines", "pipe", "\udcff"}
    assert all(skipped.values())


def test_a_directory_that_became_a_link_is_no_removal(lake: Graveler, work: Path, tmp_path: Path) -> None:
    (work / "s").rename(tmp_path / "elsewhere")
    (work / "s").symlink_to(tmp_path / "elsewhere")
    found = status(lake, work)
    assert (found.changes, [each.path for each in found.skipped]) == ([], ["s"])


def test_an_ignored_link_in_the_place_of_a_directory_is_no_removal(lake: Graveler, work: Path, tmp_path: Path) -> None:
    (work / ".gravelerignore").write_text("s\n")
    (work / "s").rename(tmp_path / "elsewhere")
    (work / "s").symlink_to(tmp_path / "elsewhere")
    done = commit(lake, work, WORDS)
    assert (done.uploaded, done.removed) == ([".gravelerignore"], [])
    assert [each.path for each in done.skipped] == ["s"]
    (work / "s").unlink()
    (work / "s").write_text("an ignored file")
    assert [(each.path, each.kind) for each in status(lake, work).changes] == [("s/c", ChangeKind.REMOVED)]


@pytest.mark.parametrize("content", ["theirs", None])
@pytest.mark.parametrize("kind", ["link", "link above", "clone"])
def test_a_tracked_file_that_is_left_out_now_is_named_before_anything_changes(
    lake: Graveler, repo: Repository, tmp_path: Path, kind: str, content: str | None
) -> None:
    """Once it is moved, the pull works."""
    work = tmp_path / "work"
    clone(lake, ("air", "main", "raw"), work)
    at = work / ("s/c" if kind == "link" else "s")
    if kind == "clone":
        init(lake, ("air", "main", "elsewhere"), at)
    else:
        at.rename(tmp_path / "elsewhere")
        at.symlink_to(tmp_path / "elsewhere")
    before = files(work)
    remotely(repo, {"raw/a": "theirs", "raw/b": None, "raw/s/c": content})
    name = at.relative_to(work).as_posix()
    for _ in range(2):
        with pytest.raises(Conflict, match=f"'s/c' was changed in the repository, but '{name}' is left out here") as e:
            pull(lake, work)
        assert e.value.details["paths"] == ["s/c"]
        assert files(work) == before
    at.rename(tmp_path / "moved")
    pull(lake, work, keep="theirs")
    assert files(work) == committed(repo)
    assert status(lake, work).changes == []


def test_a_clone_within_a_clone_is_left_to_itself(lake: Graveler, repo: Repository, work: Path) -> None:
    clone(lake, ("air", "main", "raw"), work / "inner")
    init(lake, ("air", "main", "elsewhere"), work / "s")
    for path in ("inner/a", "inner/new", "s/c", "new"):
        (work / path).write_text("mine")
    done = commit(lake, work, WORDS)
    assert done.uploaded == ["new"]
    assert committed(repo) == {"a": "1", "b": "2", "s/c": "3", "new": "mine"}
    assert {each.path: each.reason for each in done.skipped} == dict.fromkeys(
        ("inner", "s"), "it is a clone of its own"
    )
    assert commit(lake, work / "inner", WORDS).removed == []
    assert committed(repo)["a"] == "mine"


@pytest.mark.parametrize("there", [{"raw/s/new": "x"}, {"raw/s/c": "x"}, {"raw/s/c": None}])
def test_nothing_is_written_through_a_link(
    lake: Graveler, repo: Repository, work: Path, tmp_path: Path, there: dict[str, str | None]
) -> None:
    (work / "s").rename(tmp_path / "elsewhere")
    (work / "s").symlink_to(tmp_path / "elsewhere")
    remotely(repo, there)
    with pytest.raises(Conflict):
        pull(lake, work)
    assert files(tmp_path / "elsewhere") == {"c": "3"}


def test_a_clone_may_be_reached_through_a_link(lake: Graveler, repo: Repository, work: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(work)
    remotely(repo, {"raw/a": None, "raw/s/c": None, "raw/b": "theirs"})
    assert pull(lake, tmp_path / "link").removed == ["a", "s/c"]
    assert files(work) == committed(repo) == {"b": "theirs"}


def test_the_folder_of_graveler_is_its_own(lake: Graveler, repo: Repository, work: Path) -> None:
    remotely(repo, {"raw/.graveler/config": "x", "raw/s/.Graveler/local.json": "x", "raw/d": "4"})
    done = pull(lake, work)
    assert [each.path for each in done.skipped] == [".graveler/config", "s/.Graveler/local.json"]
    assert files(work) == START | {"d": "4"}
    assert not (work / ".graveler/config").exists()


LONG = "x" * 256


@pytest.mark.parametrize(
    "path", [LONG, f"0/{LONG}", f"0{LONG}/y", "0/" + "\u20ac" * 86], ids=["top", "file", "directory", "bytes"]
)
def test_a_name_that_is_too_long_is_left_out(lake: Graveler, repo: Repository, work: Path, path: str) -> None:
    later = {f"y/{number:03}": "4" for number in range(100)}
    remotely(repo, {f"raw/{name}": content for name, content in {path: "x", **later}.items()})
    for _ in range(2):
        done = pull(lake, work)
        assert [(each.path, each.reason) for each in done.skipped] == [(path, "a name is longer than 255 bytes")]
        assert files(work) == START | later
    assert status(lake, work).changes == []
    remotely(repo, {f"raw/{'x' * 255}": "fits"})
    assert pull(lake, work).downloaded == ["x" * 255]


@pytest.mark.parametrize("path", ["back\\slash", "s/two\nlines"])
def test_a_path_of_earlier_versions_is_left_out(lake: Graveler, repo: Repository, work: Path, path: str) -> None:
    """A file of this name cannot be committed."""
    for content in ("theirs", "theirs, later", None):
        with any_path():
            remotely(repo, {f"raw/{path}": content, "raw/z": str(content)})
        done = pull(lake, work)
        expected = [(path, True)] if content else []
        assert [(each.path, "must not contain" in each.reason) for each in done.skipped] == expected
        assert files(work) == START | {"z": str(content)}
        assert status(lake, work).changes == []


@pytest.mark.parametrize("at", ["mkdir", "link"])
def test_a_name_that_the_file_system_refuses_is_left_out(
    lake: Graveler, repo: Repository, work: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    owner = Path if at == "mkdir" else os
    real = getattr(owner, at)

    def refusing(*arguments: Any, **options: Any) -> object:
        if "odd" in str(arguments[-1]):
            raise OSError(errno.EILSEQ, "Illegal byte sequence")
        return real(*arguments, **options)

    remotely(repo, {"raw/odd/x": "x", "raw/z": "z"})
    with monkeypatch.context() as patched:
        patched.setattr(owner, at, refusing)
        patched.setattr(Path, "rename", refusing)
        done = pull(lake, work)
    assert [each.path for each in done.skipped] == ["odd/x"]
    assert (done.downloaded, files(work)) == (["z"], START | {"z": "z"})
    assert pull(lake, work).downloaded == ["odd/x"]


def test_a_file_system_that_does_not_distinguish_capitals(
    lake: Graveler, repo: Repository, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_link, real_exists = os.link, os.path.lexists

    def exists(path: Path) -> bool:
        return real_exists(path.with_name(path.name.lower())) or real_exists(path)

    def link(source: Path, target: Path) -> None:
        if exists(target):
            raise FileExistsError(errno.EEXIST, "File exists")
        real_link(source, target)

    remotely(repo, {"raw/A": "other", "raw/z": "z"})
    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(os.path, "lexists", exists)
    done = pull(lake, work)
    assert [each.path for each in done.skipped] == ["A"]
    assert (done.downloaded, files(work)) == (["z"], START | {"z": "z"})


@pytest.mark.parametrize("path", ["S/c", "S/d", "A/x"])
def test_a_file_system_that_does_not_distinguish_capitals_of_directories(
    lake: Graveler, repo: Repository, work: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    real_mkdir, real_link, real_lstat = os.mkdir, os.link, Path.lstat

    def spelled(path: Path) -> Path:
        """Return a path below the directory as it is spelled on disk, if capitals do not matter."""
        if not path.is_relative_to(work):
            return path
        at = work
        for name in path.relative_to(work).parts:
            names = os.listdir(at) if at.is_dir() else []
            at = at / next((each for each in names if each.casefold() == name.casefold()), name)
        return at

    remotely(repo, {f"raw/{path}": "other", "raw/z": "z"})
    monkeypatch.setattr(os, "mkdir", lambda path, mode=0o777: real_mkdir(spelled(Path(path)), mode))
    monkeypatch.setattr(os, "link", lambda source, target: real_link(source, spelled(target)))
    monkeypatch.setattr(Path, "lstat", lambda path: real_lstat(spelled(path)))
    for downloaded in (["z"], []):
        done = pull(lake, work)
        assert [(each.path, "capitals" in each.reason) for each in done.skipped] == [(path, True)]
        assert (done.downloaded, files(work)) == (downloaded, START | {"z": "z"})


@pytest.mark.parametrize("path", ["C:evil.exe", "a.txt:stream", ".graveler./config", "s /c"])
def test_names_with_another_meaning_on_windows(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert refusal_of_path(path) == ""
    assert local_path(path) == Path(path)
    monkeypatch.setattr(os, "sep", "\\")
    assert refusal_of_path(path) == "a name contains ':', or ends in '.' or a space"
    with pytest.raises(InvalidInput, match="cannot be a local file, because a name contains ':'"):
        local_path(path)


def test_a_file_that_is_a_directory_too(lake: Graveler, repo: Repository, work: Path) -> None:
    remotely(repo, {"raw/d": "file", "raw/d/e": "below"})
    done = pull(lake, work)
    assert [each.path for each in done.skipped] == ["d/e"]
    assert files(work) == START | {"d": "file"}


def test_a_new_file_that_the_branch_has_but_pulls_left_out(lake: Graveler, repo: Repository, work: Path) -> None:
    remotely(repo, {"raw/a/x": "theirs"})
    pull(lake, work)
    (work / "a").unlink()
    (work / "a").mkdir()
    (work / "a/x").write_text("mine")
    with pytest.raises(Conflict, match="'a/x' is new here, but the branch has it, too") as refused:
        commit(lake, work, WORDS)
    assert refused.value.details["paths"] == ["a/x"]
    assert committed(repo) == START | {"a/x": "theirs"}
    (work / "a/x").unlink()
    commit(lake, work, WORDS)
    pull(lake, work)
    (work / "a/x").write_text("mine")
    commit(lake, work, WORDS)
    assert committed(repo) == {"b": "2", "s/c": "3", "a/x": "mine"}


def test_a_new_file_where_the_repository_has_a_directory(lake: Graveler, repo: Repository, work: Path) -> None:
    remotely(repo, {"raw/d/e": "below", "raw/f": "file"})
    (work / "d").write_text("file")
    (work / "f").mkdir()
    (work / "f/g").write_text("below")
    with pytest.raises(Conflict) as refused:
        commit(lake, work, WORDS)
    assert refused.value.details["paths"] == ["d", "f/g"]
    assert committed(repo) == START | {"d/e": "below", "f": "file"}


@pytest.mark.parametrize(
    "changes",
    [
        ({"d/e": "mine", "d/f/g": "mine"}, {"raw/d": "theirs"}),
        ({"d": "mine"}, {"raw/d/e": "theirs", "raw/d/f/g": "theirs"}),
        ({"a": "mine"}, {"raw/a": None, "raw/a/b": "theirs"}),
        ({"s/c": "mine"}, {"raw/s/c": None, "raw/s": "theirs"}),
        ({"a": None, "a/b": "mine"}, {"raw/a": "theirs"}),
        ({"s/c": None, "s": "mine"}, {"raw/s/c": "theirs", "raw/s/d": "theirs"}),
    ],
)
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_one_side_has_a_file_where_the_other_has_a_directory(
    lake: Graveler,
    repo: Repository,
    work: Path,
    side: Literal["ours", "theirs"],
    changes: tuple[dict[str, str | None], dict[str, str | None]],
) -> None:
    local, there = changes
    for path, content in local.items():
        if content is None:
            (work / path).unlink()
            with suppress(OSError):
                (work / path).parent.rmdir()
        else:
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(content)
    mine = files(work)
    remotely(repo, {**there, "raw/new": "theirs"})
    theirs = committed(repo)
    with pytest.raises(Conflict, match="--ours or --theirs"):
        pull(lake, work)
    assert files(work) == mine
    pull(lake, work, keep=side)
    assert files(work) == (mine | {"new": "theirs"} if side == "ours" else theirs)
    pull(lake, work)
    if side == "ours":
        commit(lake, work, WORDS)
    assert files(work) == committed(repo)
    assert status(lake, work).changes == []


@pytest.mark.parametrize(
    ("mine", "there"),
    [("new/x", {"raw/new": "file", "raw/a": "theirs"}), ("new", {"raw/new/x": "below"}), ("a/x", {"raw/b": "theirs"})],
)
def test_a_checkout_that_discards_changes_removes_no_new_file(
    lake: Graveler, repo: Repository, work: Path, mine: str, there: dict[str, str | None]
) -> None:
    (work / "s/c").write_text("discarded")
    if mine.startswith("a/"):
        (work / "a").unlink()
    (work / mine).parent.mkdir(exist_ok=True)
    (work / mine).write_text("mine")
    repo.create_branch("dev", "main")
    remotely(repo, there, "dev")
    before = files(work)
    with pytest.raises(Conflict, match=r"1 new file is in the way of files of 'dev'.* move them") as refused:
        checkout(lake, work, "dev", discard=True)
    assert refused.value.details["paths"] == [mine]
    assert files(work) == before
    (work / mine).rename(work / "moved")
    (work / mine).parent.rmdir() if "/" in mine else None
    checkout(lake, work, "dev", discard=True)
    assert files(work) == committed(repo, "dev") | {"moved": "mine"}
