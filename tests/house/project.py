"""The checkout as values: which files it has, and the Python among them as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PRODUCTION = ("graveler_core", "graveler", "dagster_graveler", "jobs", "orchestration", "sensors", "benchmarks")


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
                yield self._source(path)

    def texts(self) -> dict[Path, str]:
        """Every file that is text."""
        return self._texts

    def production(self) -> list[Source]:
        return list(self.sources(*PRODUCTION))

    @cached_property
    def _texts(self) -> dict[Path, str]:
        contents = {path: (self.root / path).read_bytes() for path in self.files}
        return {path: content.decode("utf-8") for path, content in contents.items() if b"\0" not in content}

    @cached_property
    def _sources(self) -> dict[Path, Source]:
        return {}

    def _source(self, path: Path) -> Source:
        """Parse a file when the first rule asks for it, once for all rules."""
        if path not in self._sources:
            self._sources[path] = Source(path, ast.parse(self._texts[path], str(path)))
        return self._sources[path]
