"""Information about files and directories, as fsspec shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from graveler.fs.paths import FsPath
from graveler_core.model.entry import Entry

_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Modification time of an entry that has none. Some libraries require a time."""


def directory_info(name: str) -> dict[str, Any]:
    """Return the information about a directory with a name."""
    return {"name": name, "size": 0, "type": "directory"}


def file_info(at: FsPath, entry: Entry) -> dict[str, Any]:
    """Return the information about an entry at or below a path."""
    return {
        "name": at.below(entry.path),
        "size": entry.size if entry.data is None else len(entry.data),
        "type": "file",
        "mtime": entry.mtime or _UNKNOWN_TIME,
        "checksum": entry.checksum,
        "content_type": entry.content_type,
        "metadata": dict(entry.metadata),
        "identity": entry.identity.hex(),
    }
