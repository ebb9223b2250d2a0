"""The page on errors names each class, and its example repeats a commit whose outcome is unknown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import graveler
from graveler_core import errors
from graveler_core.facade.branch import Branch

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()


def test_every_class_has_a_row() -> None:
    found = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    rows = re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(found - {"Kind", "GravelerError"})
    assert all(hasattr(graveler, name) for name in rows)


class Interrupted:
    """A branch whose first commit is made, and reported as unknown."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.made: list[graveler.CommitRecord] = []

    def commit(self, message: str, **options: Any) -> graveler.CommitRecord:
        self.made.append(self.branch.commit(message, **options))
        if len(self.made) == 1:
            raise graveler.OutcomeUnknown("the response was lost")
        return self.made[-1]


def test_a_repeated_commit_returns_the_first_one() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with graveler.connect("memory://") as g:
        repo = g.create_repository("flights", "memory://bucket/flights")
        repo.branch("main").put("a", b"x")
        main = Interrupted(repo.branch("main"))
        exec(example, {"main": main})
        first, second = main.made
        assert first.id == second.id
        assert [commit.message for commit in repo.log("main")] == ["Load flights", "Repository created"]
