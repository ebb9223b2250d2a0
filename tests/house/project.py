"""The checkout as values: which files it has, and the Python among them as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCTION = ("graveler_core", "jobs", "orchestration", "sensors", "benchmarks")


@dataclass(frozen=True)
class Source:
    """One Python file: its path within the project, and its syntax tree."""

    path: Path
    tree: ast.Module

    @property
    def module(self) -> str:
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Project:
    """The checkout: every file that is committed or is about to be."""

    root: Path
    files: tuple[Path, ...]

    def sources(self, *tops: str) -> Iterator[Source]:
        """The Python files below the named top-level directories, or all of them."""
        for path in self.files:
            if path.suffix == ".py" and (not tops or path.parts[0] in tops):
                yield Source(path, ast.parse((self.root / path).read_text("utf-8"), str(path)))

    def production(self) -> list[Source]:
        return list(self.sources(*PRODUCTION))
