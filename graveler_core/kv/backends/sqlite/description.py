"""Description of a SQLite store: version, durability, journal, size and file system."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from graveler_core.kv.store import Description

_DURABILITY = {0: "none", 1: "process", 2: "power", 3: "power"}
_MOUNTS = Path("/proc/self/mounts")
NETWORK = frozenset(
    (
        "9p",
        "afs",
        "afpfs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "smb3",
        "smbfs",
    )
)
"""Network file systems, whose file locks or shared memory do not work between hosts."""


def describe(connection: sqlite3.Connection, path: str) -> Description:
    """Return the properties of an open file by name."""
    pages = _asked(connection, "page_count")
    kind = file_system(path, _MOUNTS.read_text(errors="replace")) if _MOUNTS.exists() else None
    return {
        "backend": "sqlite",
        "version": sqlite3.sqlite_version,
        "path": path,
        "durability": _DURABILITY.get(_asked(connection, "synchronous"), "none"),
        "journal_mode": _asked(connection, "journal_mode"),
        "schema_version": _asked(connection, "user_version"),
        "size": pages * _asked(connection, "page_size"),
        "free_pages": _asked(connection, "freelist_count"),
        "file_system": kind,
        "network": kind in NETWORK,
    }


def file_system(path: str, mounts: str) -> str | None:
    """Return the type of the file system that contains a path, or `None` if it is unknown.

    Args:
        path: The path.
        mounts: Table of mounts in the format of /proc/self/mounts: lines with device, mount point, type and more. If a
            mount point occurs several times, the last line counts.
    """
    real = os.path.realpath(path)
    found, longest = None, -1
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        # Blanks and backslashes in a mount point are written as octal escapes.
        place = words[1].encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
        if (real == place or real.startswith(place.rstrip("/") + "/")) and len(place) >= longest:
            found, longest = words[2], len(place)
    return found


def _asked(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
