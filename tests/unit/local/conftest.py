"""A repository in memory, and a directory that follows its branch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import graveler
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.local.committing import Words
from graveler_core.local.pulling import clone
from graveler_core.local.status import status

START = {"a": "1", "b": "2", "s/c": "3"}
WORDS = Words("mine", "ada")


@pytest.fixture
def lake() -> Iterator[Graveler]:
    with graveler.connect("memory://") as opened:
        yield opened


@pytest.fixture
def repo(lake: Graveler, request: pytest.FixtureRequest) -> Repository:
    """`main` has raw/a, raw/b, raw/s/c in one commit, and one path elsewhere."""
    made = lake.create_repository("air", storage_namespace=f"memory://local-{abs(hash(request.node.nodeid))}")
    remotely(made, {"raw/a": "1", "raw/b": "2", "raw/s/c": "3", "other": "0"})
    return made


@pytest.fixture
def work(lake: Graveler, repo: Repository, tmp_path: Path) -> Path:
    """A clone of raw/."""
    root = tmp_path / "work"
    clone(lake, ("air", "main", "raw"), root)
    return root


def remotely(repo: Repository, contents: dict[str, str | None], branch: str = "main") -> str:
    """Commit contents, or removals, of somebody else."""
    on = repo.branch(branch)
    for path, content in contents.items():
        if content is None:
            on.remove(path)
        else:
            on.put(path, content.encode())
    return on.commit("of somebody else").id


def files(root: Path) -> dict[str, str]:
    """Return the contents of a directory's files."""
    found = (path for path in root.rglob("*") if path.is_file() and ".graveler" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def committed(repo: Repository, ref: str = "main") -> dict[str, str]:
    """Return the contents below raw/ in a ref's commit."""
    at = repo.at(repo.commit(ref).id)
    return {entry.path.removeprefix("raw/"): at.read(entry.path).decode() for entry in at.list("raw/")}


def changes(lake: Graveler, root: Path) -> list[tuple[str, str, str]]:
    """Return the changes of a directory as path, side and kind."""
    return [(each.path, each.where.value, each.kind.value) for each in status(lake, root).changes]
