"""Required checks and reports as the documentation describes them, in dictionaries."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.proofs.differential.values import Content

DIRECT = ("write", "commit", "force")
"""What a required check blocks on a branch, besides merges of commits that have not passed."""


class Report(NamedTuple):
    """The newest result of a check on a commit or a tree."""

    number: int
    """Later reports have larger numbers."""
    passed: bool
    url: str
    message: str


@dataclass(frozen=True)
class Unmet:
    """Required checks that a commit has not passed, in order of their names."""

    failed: list[str]
    missing: list[str]


class Checks:
    """Rules and reports of a repository."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[str, ...]] = {}
        self._reports: dict[Hashable, dict[str, Report]] = {}
        self._number = 0

    def require(self, pattern: str, names: list[str]) -> None:
        """Set a rule, or remove it."""
        self.rules.pop(pattern, None)
        if names:
            self.rules[pattern] = tuple(sorted(set(names)))

    def blocks(self, branch: str, action: str) -> bool:
        """Return whether a rule refuses a direct change of a branch."""
        return action in DIRECT and any(fnmatchcase(branch, pattern) for pattern in self.rules)

    def report(self, subject: str | Content, name: str, passed: bool, url: str, message: str) -> None:
        """Report on a commit, by its id, or on everything with a content."""
        self._number += 1
        self._reports.setdefault(_key(subject), {})[name] = Report(self._number, passed, url, message)

    def of(self, commit: str, content: Content) -> dict[str, Report]:
        """Return the newest report of each check on a commit with a content."""
        on_content = self._reports.get(_key(content), {})
        found = [*self._reports.get(commit, {}).items(), *on_content.items()]
        return dict(sorted(found, key=lambda item: (item[0], item[1].number)))

    def unmet(self, branch: str, commit: str, content: Content) -> Unmet:
        """Return what keeps a commit from being merged into a branch."""
        required = sorted({n for pattern, names in self.rules.items() if fnmatchcase(branch, pattern) for n in names})
        reports = self.of(commit, content)
        failed = [name for name in required if name in reports and not reports[name].passed]
        return Unmet(failed, [name for name in required if name not in reports])


def _key(subject: str | Content) -> Hashable:
    return subject if isinstance(subject, str) else frozenset(subject.items())
