"""Digest of a source repository. Two states that differ in any row have different digests."""

from __future__ import annotations

import hashlib
from typing import Any

from graveler_core.transfer.migration.report import Progress
from graveler_core.transfer.migration.source import Row, SourceSnapshot

TOKEN_AT = 1
"""Position of the staging token in a row of a branch."""


def digest(snapshot: SourceSnapshot, repository: Row, progress: Progress = lambda more: None) -> str:
    """Return 64 hexadecimal digits over all rows of a repository, exactly as the database returns them.

    Args:
        snapshot: State of the source.
        repository: Row of the repository in `graveler_repositories`.
        progress: Called with the number of additional staged rows that were read.
    """
    name, found = repository[0], _Rows()
    found.add(repository)
    for row in snapshot.branches(name):
        found.add(row)
        if _is_text(row[TOKEN_AT]):
            for number, staged in enumerate(snapshot.staged(row[TOKEN_AT]), 1):
                found.add(staged)
                if number % 1_000 == 0:
                    progress(1_000)
    found.end()
    for rows in (snapshot.tags(name), snapshot.commits(name)):
        for row in rows:
            found.add(row)
        found.end()
    return found.hexdigest()


def _is_text(value: Any) -> bool:
    """Return true if a value can be used in a query. Text that is not UTF-8 was decoded leniently and cannot."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


class _Rows:
    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=32)

    def add(self, row: Row) -> None:
        parts = [_part(value) for value in row]
        head = ",".join(f"{mark}{len(data)}" for mark, data in parts)
        self._hash.update(f"{head};".encode())
        self._hash.update(b"".join(data for _, data in parts))

    def end(self) -> None:
        """Mark the end of rows of one kind."""
        self._hash.update(b".")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _part(value: Any) -> tuple[str, bytes]:
    """Return a mark of the type, and the bytes of the value."""
    match value:
        case None:
            return "n", b""
        case bytes():
            return "b", value
        case str():
            return "t", value.encode(errors="surrogateescape")
        case _:
            return "o", repr(value).encode(errors="backslashreplace")
