"""Check that driver and workers see the same files. Otherwise a worker on another machine would silently write into a
directory of its own.

A path must have the same inode in the worker as in the driver. File systems that machines share preserve inodes, and
it is very unlikely that two disks have the same inode under the same path by chance.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.sqlite.file import parse_url
from graveler_core.model.address import namespace


@dataclass(frozen=True, slots=True)
class Sight:
    """File or directory as the driver sees it."""

    path: str
    inode: int

    def check(self) -> None:
        """Raise `InvalidInput` if this process sees another file, or none, under the path."""
        found = _inode(self.path)
        if found != self.inode:
            what = "no file there" if found is None else "another file there than the driver does"
            raise InvalidInput(
                f"{self.path}: a worker on {platform.node()} finds {what}; workers on other "
                "machines need PostgreSQL and an object store, or a shared file system",
                kind=Kind.InvalidNamespace,
                path=self.path,
            )


def sights(store_url: str, namespaces: Iterable[str]) -> tuple[Sight, ...]:
    """Return the local files and directories of a key-value store and storage namespaces, as this process sees them.

    A directory that does not exist yet is created, as the first write would do.

    Raises:
        Unavailable: A file does not exist, or a directory cannot be created.
    """
    paths = [parse_url(store_url).path] if store_url.startswith("sqlite:") else []
    for uri in sorted(namespaces):
        place = namespace(uri)
        if place.scheme == "file":
            paths.append(f"/{place.path}")
            _make(paths[-1])
    return tuple(_seen(path) for path in paths)


def _make(directory: str) -> None:
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{directory}: the directory cannot be created: {error.strerror}", path=directory) from error


def _seen(path: str) -> Sight:
    inode = _inode(path)
    if inode is None:
        raise Unavailable(f"{path}: the file does not exist", path=path)
    return Sight(path, inode)


def _inode(path: str) -> int | None:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return None
