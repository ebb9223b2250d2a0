"""The digest of a repository of the source: two states that differ in any row of it have different ones."""

from __future__ import annotations

import hashlib
from typing import Any

from graveler_core.transfer.migration.report import Progress
from graveler_core.transfer.migration.source import Row, Snapshot

TOKEN_AT = 1
"""Where the staging token stands in a row of a branch."""


def digest(snapshot: Snapshot, repository: Row, progress: Progress = lambda more: None) -> str:
    """64 hex digits over all rows of a repository, as the database gives them, whatever they are.

    Args:
        repository: Its row in `graveler_repositories`.
        progress: Told how many more staged rows were read.
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
    """Whether a database can be asked for it: what is no UTF-8 was read leniently."""
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
        """What follows is of another kind."""
        self._hash.update(b".")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _part(value: Any) -> tuple[str, bytes]:
    """A mark of the type, and the value's bytes."""
    match value:
        case None:
            return "n", b""
        case bytes():
            return "b", value
        case str():
            return "t", value.encode(errors="surrogateescape")
        case _:
            return "o", repr(value).encode(errors="backslashreplace")
