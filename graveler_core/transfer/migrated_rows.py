"""Migrated commits in dumps: rows with the id of a commit, and its id in the source of the migration.

The metadata of the commits contain the same ids (`ORIGIN`), but do not replace these rows, because a cherry-pick copies
metadata.

A migration writes the record of its source first (`transfer.settings`), which never changes, and each commit completely
before its record. A dump reads these records before the headers, so it contains the header, layout and runs of each
commit with a row, even if a migration is under way. A commit that is written meanwhile may be dumped without its row.
The next run of the migration then writes it again, with the same id.
"""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.codec.content_hash import DIGEST_BYTES
from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.migration import MigratedCommit
from graveler_core.objects.objects import Write
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.transfer.commit_graph import binary_id
from graveler_core.transfer.commit_rows import CommitRows
from graveler_core.transfer.format import RowKind as Rows


def read_migrated(kv: Store, repo: RepositoryRecord) -> list[bytes]:
    """Return the rows of the migrated commits of a repository, in the order of their ids in the source.

    Raises:
        CorruptData: A record contains no commit id.
    """
    found = []
    for origin, held in access.scan(kv, keys.migrated_commits(repo)):
        id = binary_id(held.value.commit_id)
        if id is None:
            why = f"migrated commit {origin!r}: {held.value.commit_id!r} is not a commit id"
            raise CorruptData(why, kind=Kind.CorruptCommit, commit=held.value.commit_id)
        found.append(id + origin.encode())
    return found


def write_migrated(rows: Sequence[bytes], commits: CommitRows) -> None:
    """Write those rows of which the commit was dumped. Others belong to commits that are lost or have lost ancestors.

    Args:
        rows: Rows that were read before the headers.
        commits: The commits, which were written before.
    """
    places = commits.graph.places(b"".join(row[:DIGEST_BYTES] for row in rows))
    for row, place in zip(rows, places, strict=True):
        if place >= 0 and commits.dumped[place]:
            commits.writer.row(Rows.MIGRATED, row)


def checked_migrated(row: bytes) -> tuple[bytes, bytes]:
    """Return the id of the commit of a row, 32 bytes, and its id in the source.

    Raises:
        CorruptData: There is no id in the source, or it is not valid UTF-8.
    """
    commit, origin = row[:DIGEST_BYTES], row[DIGEST_BYTES:]
    try:
        valid = bool(origin.decode())
    except UnicodeDecodeError:
        valid = False
    if not valid:
        raise CorruptData(f"migrated commit {commit.hex()}: has no valid id in the source")
    return commit, origin


def migrated_write(repo: RepositoryRecord, row: bytes) -> Write:
    """Return the key-value write that restores a row."""
    commit, origin = checked_migrated(row)
    at = keys.migrated_commits(repo).at(origin.decode())
    return at.partition, at.key, encode(MigratedCommit(commit_id=CommitId(commit.hex())))
