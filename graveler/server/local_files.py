"""Directories of the server's machine that users may name.

The server reads addresses of users with its own rights. Without a limit, a user who may import content could read the
database of the store, and so become an administrator.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import namespace


class LocalFiles:
    """Limit of the `file://` URIs that users may name, on a server with access control."""

    def __init__(self, storage_root: str, directories: Iterable[str]) -> None:
        """Create the limit.

        Args:
            storage_root: URI of the server's storage root. If it is a directory, it is allowed.
            directories: Paths of further directories that are allowed.

        Raises:
            InvalidInput: A directory is empty text.
        """
        given = list(directories)
        if "" in given:
            raise InvalidInput("local files: must be the path of a directory")
        root = _path(storage_root) if storage_root else None
        self._allowed = tuple(Path(directory).resolve() for directory in given)
        if root is not None:
            self._allowed += (root,)

    def check(self, uri: str) -> None:
        """Refuse the URI of an object or a directory that is a local file outside the allowed directories.

        Raises:
            InvalidInput: It is one, or the URI is not valid.
        """
        path = _path(uri)
        if path is not None and not any(path.is_relative_to(allowed) for allowed in self._allowed):
            raise InvalidInput(
                f"{uri}: is outside the directories of this server that users may name; they are its storage root and "
                "those of its option --local-files",
                kind=Kind.InvalidNamespace,
                uri=uri,
            )


def _path(uri: str) -> Path | None:
    """Return the path that a URI means after all symbolic links, or `None` if it is no local file."""
    place = namespace(uri)
    return Path("/", place.path).resolve() if place.scheme == "file" else None
