"""Tests of the end of a run: exit code, one line on stderr, no traceback. Also the options that all verbs share."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import graveler_core
from graveler_core.cli.app import run
from graveler_core.errors import CorruptData, GravelerError, NotFound, Unavailable

VERBS = [
    "ls",
    "cat",
    "rm",
    "put",
    "status",
    "compact",
    "reset",
    "commit",
    "merge",
    "log",
    "diff",
    "fsck",
    "gc",
    "metrics",
    "diagnostics",
    "doctor",
]
GROUPED = [f"{group} {name}" for group in ("repo", "branch", "tag") for name in ("create", "list", "delete")]
GROUPED += ["repo thresholds"]


class Store:
    """Stands in for an open store; remembers how it was opened."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.raises: BaseException | None = None
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def connect(self, url: str, **_: object) -> Store:
        self.urls.append(url)
        return self

    def list_repositories(self, *_: object, **bounds: object) -> Iterator[Any]:
        if self.raises is not None:
            raise self.raises
        return iter(())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    opened = Store()
    monkeypatch.setattr(graveler_core, "connect", opened.connect, raising=False)
    monkeypatch.setenv("GRAVELER_STORE", "memory://from-environment")
    return opened


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotFound("branch 'x': does not exist"), "branch 'x': does not exist"),
        (CorruptData("range 12: hash\nis \x1b[31mother"), "range 12: hash\\nis \\x1b[31mother"),
        (Unavailable("store memory://: cannot be reached"), "store memory://: cannot be reached"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a/b"), "a/b: No such file or directory"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
    ],
)
def test_an_error_is_one_line_and_code_1(
    store: Store, capfd: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    store.raises = error
    assert run(["repo", "list"]) == 1
    assert capfd.readouterr() == ("", f"error: {told}\n")


def test_an_error_nobody_foresaw_says_where_it_arose(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    store.raises = ZeroDivisionError("by zero")
    assert run(["repo", "list"]) == 1
    told = capfd.readouterr().err
    assert told.startswith("error: unexpected ZeroDivisionError at test_app.py:")
    assert told.endswith(": by zero\n")
    assert told.count("\n") == 1


def test_every_class_of_the_tree_is_told(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    classes = GravelerError.__subclasses__()
    assert classes
    for each in classes:
        store.raises = each("what and why")
        assert run(["repo", "list"]) == 1
        assert capfd.readouterr().err == "error: what and why\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["ls"], "Missing argument 'URI'"),
        (["repo"], "Missing command"),
        (["ls", "--frobnicate", "graveler://flights/main"], "No such option: --frobnicate"),
        (["ls", "graveler://flights/main", "-n", "many"], "Invalid value for '--limit' / '-n'"),
        (["merge", "graveler://a/b", "graveler://a/c", "--strategy", "both"], "Invalid value for '--strategy'"),
        (["commit", "graveler://flights/main"], "Missing option '--message' / '-m'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    store: Store, capfd: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error: {told}")
    assert "--help)" in err
    assert err.count("\n") == 1
    assert not store.urls


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls", "flights/main"],
        ["cat", "graveler://flights/main"],
        ["rm", "graveler://flights/main/"],
        ["put", "-", "graveler://flights/main/"],
        ["commit", "graveler://flights/main/path", "-m", "x"],
        ["commit", "graveler://flights/main", "-m", "x", "--meta", "novalue"],
        ["commit", "graveler://flights/main", "-m", "x", "--meta", "k=1", "--meta", "k=2"],
        ["merge", "graveler://flights/dev", "graveler://weather/main", "-m", "x"],
        ["diff", "graveler://flights/main"],
        ["reset", "graveler://flights/main/a", "--hard", "main~1"],
        ["reset", "graveler://flights/main", "--exact"],
        ["status", "flights"],
        ["compact", "graveler://flights"],
        ["repo", "thresholds", "graveler://flights/main/a", "--layers", "2"],
        ["repo", "create", "flights"],
        ["branch", "create", "graveler://flights/dev", "--source", "graveler://weather/main"],
        ["tag", "create", "graveler://flights/v1", "flights/main"],
    ],
)
def test_bad_input_is_refused_before_the_store_is_opened(
    store: Store, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(arguments) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(("error: URI ", "error: metadata "))
    assert err.count("\n") == 1
    assert not store.urls


def test_an_interruption_is_code_130(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    store.raises = KeyboardInterrupt()
    assert run(["repo", "list"]) == 130
    assert capfd.readouterr() == ("", "error: interrupted\n")


def test_a_reader_that_has_gone_is_no_error(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    store.raises = BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert run(["repo", "list"]) == 141
    assert capfd.readouterr() == ("", "")
    print("a replaced stream keeps its descriptor")
    assert capfd.readouterr().out != ""


def test_the_store_is_named_by_option_before_or_after_the_verb_or_by_the_environment(store: Store) -> None:
    assert run(["repo", "list"]) == 0
    assert run(["--store", "memory://before", "repo", "list"]) == 0
    assert run(["repo", "list", "--store", "memory://after"]) == 0
    assert run(["--store", "memory://before", "repo", "list", "--store", "memory://after"]) == 0
    assert store.urls == ["memory://from-environment", "memory://before", "memory://after", "memory://after"]
    assert store.closed == 4


@pytest.mark.parametrize("verb", [*VERBS, *GROUPED, "repo", "branch", "tag"])
def test_every_verb_explains_itself(store: Store, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    assert run([*verb.split(), "--help"]) == 0
    out, err = capfd.readouterr()
    assert f"Usage: graveler {verb}" in out
    assert verb in ("repo", "branch", "tag") or ("--json" in out and "--store" in out)
    assert err == ""
    assert not store.urls


def test_without_arguments_it_lists_its_verbs(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    out, _ = capfd.readouterr()
    assert all(f" {verb} " in out for verb in [*VERBS, "repo", "branch", "tag"])


def test_tells_its_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capfd.readouterr().out.startswith("graveler ")


def test_who_commits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    committers: list[str] = []

    def commit(message: str, *, committer: str, **_: object) -> object:
        committers.append(committer)
        raise NotFound("enough")

    monkeypatch.setattr(store, "repository", lambda _: store, raising=False)
    monkeypatch.setattr(store, "branch", lambda _: SimpleNamespace(commit=commit), raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    words = ["commit", "graveler://flights/main", "-m", "x"]
    run(words)
    monkeypatch.setenv("GRAVELER_COMMITTER", "setting")
    run(words)
    run([*words, "--committer", "option"])
    run(["--committer", "early", *words])
    assert committers == ["ada", "setting", "option", "early"]


def test_a_user_without_a_name_is_asked_for_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert run(["commit", "graveler://flights/main", "-m", "x"]) == 1
    assert capfd.readouterr().err == (
        "error: committer: the operating system has no name for this user; give --committer\n"
    )


def test_deleting_a_repository_asks_on_a_terminal(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(store, "delete_repository", deleted.append, raising=False)
    monkeypatch.setattr(sys, "stdin", Terminal("n\ny\n"))
    assert run(["repo", "delete", "graveler://flights"]) == 1
    assert capfd.readouterr().err.endswith("error: aborted\n")
    assert run(["repo", "delete", "graveler://flights"]) == 0
    assert run(["repo", "delete", "graveler://weather", "--yes"]) == 0
    assert deleted == ["flights", "weather"]
