"""Expired and removed commits, as sorted files in the storage namespace. The collection record lists the files.

_graveler/collections/<id>/commits/<number>.parquet     commit, since, rule: commits that expire, or are removed, with a
                                                        condemned set
_graveler/expired/<id>/<number>.parquet                 commit, since, rule: all expired commits
_graveler/removed-commits/<id>/<number>.parquet         commit, since, rule: commits that were removed recently

A restored dump finds the second kind of files in its namespace: see `adopt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.model.collection import Collections, ExpiredCommits, Expiry, RemovedCommits, SortedFile
from graveler_core.model.ids import CommitId
from graveler_core.objects import condemned, sorted_files

PREFIX = "_graveler/expired/"
"""Prefix of the files of all expired commits."""
REMOVED_PREFIX = "_graveler/removed-commits/"
"""Prefix of the files of removed commits."""
COMMITS = pa.schema(
    [
        pa.field("commit", pa.string(), nullable=False),
        pa.field("since", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
    ]
)
"""Columns of a file, sorted by commit id."""


def table(expiries: Mapping[CommitId, Expiry]) -> pa.Table:
    """Return expiries by commit as a table in `COMMITS`."""
    rows = [{"commit": id, "since": expiries[id].since, "rule": expiries[id].rule} for id in sorted(expiries)]
    return pa.Table.from_pylist(rows, COMMITS)


def write_expiring(blobs: Blobs, id: str, commits: pa.Table) -> tuple[SortedFile, ...]:
    """Write the commits that expire with the condemned set that has an id."""
    return sorted_files.write(blobs, _of_set(id), [commits], commits.num_rows)


def write_expired(blobs: Blobs, id: str, commits: pa.Table) -> ExpiredCommits:
    """Write expired commits under an id that no other call uses."""
    return ExpiredCommits(id=id, files=sorted_files.write(blobs, f"{PREFIX}{id}/", [commits], commits.num_rows))


def write_removed(blobs: Blobs, id: str, commits: pa.Table, since: datetime) -> RemovedCommits:
    """Write removed commits under an id that no other call uses."""
    files = sorted_files.write(blobs, f"{REMOVED_PREFIX}{id}/", [commits], commits.num_rows)
    return RemovedCommits(id=id, files=files, since=since)


def expiring(blobs: Blobs, record: Collections) -> pa.Table:
    """Return the commits that are about to expire or to be removed with the condemned set, except for revived ones.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    current = record.current
    if current is None:
        return COMMITS.empty_table()
    found = _whole(sorted_files.read(blobs, _of_set(current.id), current.expiring, COMMITS))
    return found.filter(pc.invert(pc.is_in(found.column("commit"), pa.array(current.revived, pa.string()))))


def expired(blobs: Blobs, record: Collections) -> pa.Table:
    """Return the commits that have expired.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    known = record.expired
    if known is None:
        return COMMITS.empty_table()
    return _whole(sorted_files.read(blobs, f"{PREFIX}{known.id}/", known.files, COMMITS))


def removed(blobs: Blobs, record: Collections) -> pa.Table:
    """Return the commits that were removed recently, or are being removed.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    known = record.removed
    if known is None:
        return COMMITS.empty_table()
    return _whole(sorted_files.read(blobs, f"{REMOVED_PREFIX}{known.id}/", known.files, COMMITS))


def among(blobs: Blobs, record: Collections, commits: pa.Array) -> dict[CommitId, Expiry]:
    """Return the expiries of those of some commits that have expired, were removed, or are about to.

    Raises:
        CorruptData: A file is missing or damaged.
    """
    found = dict[CommitId, Expiry]()
    if record.current is not None:
        current = record.current
        rows = sorted_files.among(blobs, _of_set(current.id), current.expiring, COMMITS, commits)
        found |= {id: expiry for id, expiry in _expiries(rows, final=False) if id not in current.revived}
    if record.expired is not None:
        rows = sorted_files.among(blobs, f"{PREFIX}{record.expired.id}/", record.expired.files, COMMITS, commits)
        found |= _expiries(rows, final=True)
    if record.removed is not None:
        folder, files = f"{REMOVED_PREFIX}{record.removed.id}/", record.removed.files
        found |= _expiries(sorted_files.among(blobs, folder, files, COMMITS, commits), final=True)
    return found


def _expiries(commits: pa.Table, *, final: bool) -> Iterator[tuple[CommitId, Expiry]]:
    for row in commits.to_pylist():
        yield CommitId(row["commit"]), Expiry(since=row["since"], rule=row["rule"], final=final)


def adopt(blobs: Blobs, id: str) -> ExpiredCommits | None:
    """Write one set of all expired commits that any set in a namespace contains, or return `None` if there is none.

    The namespace of a restored dump is that of the dumped repository, or a copy. Content of commits that expired there,
    also after the dump, may be deleted.

    Args:
        blobs: Storage namespace of the repository.
        id: Id that no other call uses.
    """
    tables = sorted_files.read_all(blobs, PREFIX, COMMITS)
    if not tables:
        return None
    return write_expired(blobs, id, merged(tables))


def merged(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the union of tables in `COMMITS`, sorted, each commit once: with its first expiry."""
    rows = pa.concat_tables([COMMITS.empty_table(), *tables])
    rows = rows.sort_by([("commit", "ascending"), ("since", "ascending")])
    _, firsts = np.unique(rows.column("commit").to_numpy(), return_index=True)
    return rows.take(firsts).combine_chunks()


def _of_set(id: str) -> str:
    return f"{condemned.PREFIX}{id}/commits/"


def _whole(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([COMMITS.empty_table(), *tables])
