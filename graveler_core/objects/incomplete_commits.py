"""Records of the commits of an incomplete repository, which have no index yet.

A commit is one record, with its header and its changes. Changes that do not fit into it are in further records, which
are written before it and removed after it. Nothing changes these records. They are removed together, when all commits
are complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData
from graveler_core.kv.limits import MAX_VALUE
from graveler_core.kv.store import Store
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.migration import IncompleteChanges, IncompleteCommit
from graveler_core.objects.objects import Write
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder, Location

PART_BYTES = 64 * 1024
"""Size of the changes in one further record. Records are JSON, with four characters for three bytes."""
PAGE = 500
"""Number of records that are removed at once."""


class CommitChanges(NamedTuple):
    """Foreign commit with its changes."""

    commit: ForeignCommit
    changes: bytes
    """Changes in the encoding of `codec.elements`."""


def incomplete_writes(repo: RepositoryRecord, said: CommitChanges) -> tuple[list[Write], Write]:
    """Return the writes that store a commit without index: further records, and the record to write after them."""
    where, record = keys.incomplete_commits(repo).at(said.commit.id), encode(IncompleteCommit(commit=said.commit))
    parts: Sequence[bytes] = ()
    if len(record) + 4 * (len(said.changes) // 3 + 1) <= MAX_VALUE:
        record = encode(IncompleteCommit(commit=said.commit, changes=said.changes))
    else:
        parts = [said.changes[at : at + PART_BYTES] for at in range(0, len(said.changes), PART_BYTES)]
        record = encode(IncompleteCommit(commit=said.commit, parts=len(parts)))
    writes = []
    for number, changes in enumerate(parts):
        at = keys.incomplete_part(repo, said.commit.id, number)
        writes.append((at.partition, at.key, encode(IncompleteChanges(changes=changes))))
    return writes, (where.partition, where.key, record)


def read_incomplete(kv: Store, repo: RepositoryRecord, origin: str) -> CommitChanges | None:
    """Read a commit without index. Return `None` if its record was removed.

    Args:
        kv: Key-value store.
        repo: Repository.
        origin: Id of the commit in the source.

    Raises:
        CorruptData: A part of its changes is missing.
    """
    where = keys.incomplete_commits(repo).at(origin)
    held = access.read(kv, where)
    if held is None:
        return None
    try:
        return _whole(kv, repo, origin, held.value)
    except CorruptData:
        if access.read(kv, where) is None:  # removed since, first the record and then its parts
            return None
        raise


def scan_incomplete(kv: Store, repo: RepositoryRecord) -> Iterator[CommitChanges]:
    """Yield the commits without index, in the order of their ids in the source.

    Raises:
        CorruptData: A record cannot be read, or a part of its changes is missing.
    """
    for origin, held in access.scan(kv, keys.incomplete_commits(repo)):
        try:
            yield _whole(kv, repo, origin, held.value)
        except CorruptData:
            if access.read(kv, keys.incomplete_commits(repo).at(origin)) is not None:
                raise


def incomplete_names(kv: Store, repo: RepositoryRecord) -> set[str]:
    """Return the ids in the source of the commits with a record without index."""
    return _names(kv, keys.incomplete_commits(repo))


def commits_left(kv: Store, repo: RepositoryRecord) -> int:
    """Return the number of commits that have no index yet."""
    return len(incomplete_names(kv, repo) - _names(kv, keys.migrated_commits(repo)))


def remove_incomplete(kv: Store, repo: RepositoryRecord) -> None:
    """Remove the records of all commits without index."""
    folders: tuple[Folder[Any], ...] = keys.incomplete_commits(repo), keys.incomplete_changes(repo)
    for folder in folders:
        rows = access.scan(kv, folder)
        while page := list(islice(rows, PAGE)):
            found: list[tuple[Location[Any], access.Held[Any]]] = [(folder.at(name), held) for name, held in page]
            access.remove_many(kv, found)


def _names(kv: Store, folder: Folder[Any]) -> set[str]:
    rows = kv.scan(folder.partition, prefix=folder.prefix)
    return {row.key.removeprefix(folder.prefix).decode() for row in rows}


def _whole(kv: Store, repo: RepositoryRecord, origin: str, record: IncompleteCommit) -> CommitChanges:
    if not record.parts:
        return CommitChanges(record.commit, record.changes)
    parts = [keys.incomplete_part(repo, origin, number) for number in range(record.parts)]
    found = [held for held in access.read_many(kv, parts) if held is not None]
    if len(found) < record.parts:
        raise CorruptData(f"commit {origin} without index: a part of its changes is missing", name=origin)
    return CommitChanges(record.commit, b"".join(held.value.changes for held in found))
