"""That driver and workers see the same files: a worker elsewhere would write into a directory of its own, unnoticed.

What a worker finds under a path must have the inode that the driver found there: file systems that machines share keep
it, and two disks that hold the same one under the same path by chance are as good as excluded.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.sqlite_file import parse_url
from graveler_core.model.address import namespace


@dataclass(frozen=True, slots=True)
class Sight:
    """A file or directory as the driver sees it."""

    path: str
    inode: int

    def check(self) -> None:
        """Raise `InvalidInput` where this process sees another one, or none, under the path."""
        found = _inode(self.path)
        if found != self.inode:
            what = "nothing" if found is None else "another file"
            raise InvalidInput(
                f"{self.path}: a worker on {platform.node()} finds {what} there than the driver does; workers on other "
                "machines need PostgreSQL and an object store, or a file system that all of them share",
                kind=Kind.InvalidNamespace,
                path=self.path,
            )


def sights(store_url: str, namespaces: Iterable[str]) -> tuple[Sight, ...]:
    """The local files and directories among a key-value store and storage namespaces, as this process sees them.

    A directory that does not exist yet is made, as the first write into it would.

    Raises:
        Unavailable: there is no such file, or the directory cannot be made.
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
        raise Unavailable(f"{directory}: the directory cannot be made: {error.strerror}", path=directory) from error


def _seen(path: str) -> Sight:
    inode = _inode(path)
    if inode is None:
        raise Unavailable(f"{path}: there is no such file", path=path)
    return Sight(path, inode)


def _inode(path: str) -> int | None:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return None
