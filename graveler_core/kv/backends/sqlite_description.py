"""What a SQLite store tells of its file: version, durability, journal, size, and which file system it is on."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from graveler_core.kv.abilities import Description

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
"""File systems whose locks do not hold, or whose shared memory is no memory, between two hosts."""


def describe(connection: sqlite3.Connection, path: str) -> Description:
    """The description of an open file."""
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
    """The type of the file system that a path is on, by the table of mounts; None where that does not say.

    Args:
        mounts: Lines of device, place, type and more, as in /proc/self/mounts; the last of a place counts.
    """
    real = os.path.realpath(path)
    found, longest = None, -1
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        # Blanks and backslashes of a place are written as octal numbers.
        place = words[1].encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
        if (real == place or real.startswith(place.rstrip("/") + "/")) and len(place) >= longest:
            found, longest = words[2], len(place)
    return found


def _asked(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
