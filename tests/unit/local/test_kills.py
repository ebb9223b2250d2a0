"""Commands that are killed before each change of the directory or the branch: the next command finishes or explains."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.local.committing import Words, commit
from graveler_core.local.pulling import checkout, clone, pull
from graveler_core.local.status import status
from tests.unit.local.conftest import committed, files, remotely

CHANGES = [(os, "link"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (Path, "rmdir"), (Branch, "transact")]


class Killed(BaseException):
    """The process is gone: nothing can handle this, and nothing is changed any more."""


class Killer:
    """Kills a process before, or after, its n-th change."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.at, self.after, self.made = at, after, 0

    def wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.made += 1
            if self.made > self.at or (self.made == self.at and not self.after):
                raise Killed
            result = real(*arguments, **options)
            if self.made >= self.at:
                raise Killed
            return result

        return call


def killed(monkeypatch: pytest.MonkeyPatch, flow: Callable[[], object], at: int, *, after: bool) -> bool:
    """Run a command that is killed. Return `False` if it has fewer changes."""
    killer = Killer(at, after=after)
    with monkeypatch.context() as patched:
        for owner, name in CHANGES:
            patched.setattr(owner, name, killer.wrapped(getattr(owner, name)))
        try:
            flow()
        except Killed:
            return True
    return False


@pytest.fixture(params=[False, True], ids=["before", "after"])
def moments(request: pytest.FixtureRequest) -> Iterator[tuple[int, bool]]:
    """Every moment at which a command may be killed."""
    return ((at, bool(request.param)) for at in count(1))


@dataclass(frozen=True)
class Clones:
    """Clones of raw/, as many as are needed."""

    lake: Graveler
    repo: Repository
    roots: Iterator[Path]


@pytest.fixture
def clones(lake: Graveler, repo: Repository, tmp_path: Path) -> Clones:
    def made(number: int) -> Path:
        clone(lake, ("air", "main", "raw/"), tmp_path / f"work{number}")
        return tmp_path / f"work{number}"

    return Clones(lake, repo, map(made, count()))


def test_a_clone_is_completed(
    lake: Graveler,
    repo: Repository,
    tmp_path: Path,
    moments: Iterator[tuple[int, bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for at, after in moments:
        root = tmp_path / f"new{at}"
        if not killed(monkeypatch, partial(clone, lake, ("air", "main", "raw/"), root), at, after=after):
            break
        if (root / ".graveler/local.json").exists():
            pull(lake, root)
        else:  # nothing had begun
            clone(lake, ("air", "main", "raw/"), root)
        assert files(root) == committed(repo)
        assert status(lake, root).changes == []
    assert at > 5


@pytest.mark.parametrize("moved", [False, True], ids=["", "moved"])
def test_a_pull_is_completed_and_loses_no_local_change(
    clones: Clones, moments: Iterator[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    """Also if the branch has moved on before the next command."""
    lake, repo = clones.lake, clones.repo
    for at, after in moments:
        root = next(clones.roots)
        (root / "mine").write_text(f"mine {at}")
        (root / "b").write_text("22")
        remotely(repo, {"raw/a": f"theirs {at}", "raw/s/c": None, "raw/t/d": f"new {at}"})
        ended = not killed(monkeypatch, partial(pull, lake, root), at, after=after)
        if moved:
            remotely(repo, {"raw/a": f"theirs again {at}"})
        assert {each.path for each in status(lake, root).changes if each.where == "conflict"} == set()
        pull(lake, root)
        assert files(root) == committed(repo) | {"mine": f"mine {at}", "b": "22"}
        assert [(each.path, each.where) for each in status(lake, root).changes] == [("b", "local"), ("mine", "local")]
        assert list((root / ".graveler/tmp").iterdir()) == []
        remotely(repo, {"raw/s/c": "3", "raw/t/d": None})
        if ended:
            break
    assert at > 5


@pytest.mark.parametrize("moved", [False, True], ids=["", "moved"])
def test_a_commit_happened_or_not(
    clones: Clones, moments: Iterator[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    """If it did, the next command knows it, also if somebody has changed the same path since."""
    lake, repo = clones.lake, clones.repo
    for at, after in moments:
        root = next(clones.roots)
        (root / "a").write_text(f"mine {at}")
        (root / "s/c").unlink()
        wanted = files(root)
        ended = not killed(monkeypatch, partial(commit, lake, root, Words(f"mine {at}")), at, after=after)
        happened = repo.commit("main").message == f"mine {at}"
        if moved and happened:
            remotely(repo, {"raw/a": f"theirs {at}"})
        found = status(lake, root).changes
        assert files(root) == wanted
        if happened:
            assert [(each.path, each.where) for each in found] == ([("a", "remote")] if moved else [])
        else:
            assert [(each.path, each.where) for each in found] == [("a", "local"), ("s/c", "local")]
            commit(lake, root, Words("again"))
        pull(lake, root)
        assert files(root) == committed(repo)
        remotely(repo, {"raw/s/c": "3"})
        if ended:
            break
    assert at > 2


def test_a_checkout_is_completed(
    clones: Clones, moments: Iterator[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, repo = clones.lake, clones.repo
    repo.create_branch("dev", "main")
    remotely(repo, {"raw/a": "dev", "raw/s": "a file now", "raw/s/c": None}, "dev")
    for at, after in moments:
        root = next(clones.roots)
        ended = not killed(monkeypatch, partial(checkout, lake, root, "dev"), at, after=after)
        assert not [each for each in status(lake, root).changes if each.where != "remote"]
        checkout(lake, root, "dev")
        assert files(root) == committed(repo, "dev")
        checkout(lake, root, "main")
        assert files(root) == committed(repo)
        if ended:
            break
    assert at > 5
