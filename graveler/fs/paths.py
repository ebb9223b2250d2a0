"""Paths of the file system: repository, ref and path of an object. Pure functions from text to values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

PROTOCOL = "graveler"


@dataclass(frozen=True, slots=True)
class FsPath:
    """A parsed path. `ref` and `path` are empty if the text does not have them."""

    repository: str = ""
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.repository, self.ref, self.path) if part)

    @property
    def prefix(self) -> str:
        """Beginning of the paths of everything below this path as a directory."""
        return f"{self.path}/" if self.path else ""

    @property
    def marker(self) -> FsPath:
        """Path of the entry that marks this path as a directory."""
        return FsPath(self.repository, self.ref, self.prefix)

    def below(self, path: str) -> str:
        """Return the whole path of a path of the same ref."""
        return str(FsPath(self.repository, self.ref, path))


def stripped(path: str | os.PathLike[str]) -> str:
    """Return a path without protocol and outer slashes.

    Raises:
        TypeError: The path is neither text nor a path of `pathlib`.
    """
    text = os.fspath(path)
    return text.removeprefix(f"{PROTOCOL}://").removeprefix(f"{PROTOCOL}:").strip("/")


def parse(path: str | os.PathLike[str]) -> FsPath:
    """Split a path, with or without protocol. Nothing is percent-decoded."""
    repository, _, rest = stripped(path).partition("/")
    ref, _, below = rest.partition("/")
    return FsPath(repository, ref, below)


def directories_below(at: FsPath, paths: Iterable[str]) -> set[str]:
    """Return the whole paths of a directory and of all directories between it and paths below it.

    Args:
        at: The directory.
        paths: Paths of entries of the same ref. A path that ends in "/" marks a directory.
    """
    found = {str(at)}
    for path in paths:
        directory = path.rpartition("/")[0].rstrip("/")
        while len(directory) > len(at.path) and at.below(directory) not in found:
            found.add(at.below(directory))
            directory = directory.rpartition("/")[0].rstrip("/")
    return found
