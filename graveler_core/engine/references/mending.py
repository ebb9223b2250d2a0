"""Repair of the log of references: remove damaged pending events, and go back to an intact commit.

The references themselves do not depend on it: branches and tags are created, deleted and listed while the log is
damaged, and their events wait. The log goes back to its newest commit whose index can be read completely, or starts
empty. The commit is written again without a parent, and one swap ✓ makes the copy current. So the log does not depend
on ancestors, which may be lost, and a deletion of unreachable commits that is still running cannot delete the copy. If
only ancestors of the current commit are lost, the same is done with the current commit, which has all events. Waiting
events are still in `pending/` and are logged by the next fold. Creations and assignments in the past of records are
logged with them. A commit of a fold that lost its swap is also suitable, because all its events have happened.

A pending event that cannot be read is removed. No fold does this, because only a person can decide that it is lost.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from graveler_core.codec.records import decode
from graveler_core.committed.index.scan import scan
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.references.log import ReferenceLog, point, read_internal
from graveler_core.engine.references.rewriting import write_root
from graveler_core.errors import CorruptData, NotFound, PredicateFailed
from graveler_core.model.clock import Instant
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def mend(stores: Stores, repo: RepositoryRecord) -> bool:
    """Remove damaged pending events, and go back to the newest intact commit of the log, without its ancestors. Return
    `True` if any of this was necessary.
    """
    removed = _damaged_events_removed(stores, repo)
    return _set_back(stores, repo) or removed > 0


def _damaged_events_removed(stores: Stores, repo: RepositoryRecord) -> int:
    """Remove the pending events that cannot be read. Return their number."""
    folder, removed = keys.pending_events(repo), 0
    for row in stores.kv.scan(folder.partition, prefix=folder.prefix):
        try:
            list(decode(folder.model, row.value, "pending event").earlier())
        except CorruptData:
            with suppress(PredicateFailed):  # another call has removed it
                stores.kv.delete_if(folder.partition, row.key, row.predicate)
            removed += 1
    return removed


def _set_back(stores: Stores, repo: RepositoryRecord) -> bool:
    where = keys.reference_log(repo)

    def attempt() -> bool | None:
        begun = Instant.of(stores.clock)
        held = access.read(stores.kv, where)
        current = None if held is None else _whole(stores, repo, held.value.commit_id)
        if held is None or (current is not None and _has_ancestors(stores, repo, current)):
            return False
        intact = (found for at in _newest_first(stores, repo) if (found := _whole(stores, repo, at)))
        whole = next(intact, None) if current is None else current
        if whole is None:
            done = access.remove(stores.kv, where, held)
        else:
            log = ReferenceLog(stores, repo, held, whole, begun)
            done = point(log, write_root(log, whole).id)
        return done or None

    return retry(stores, f"log of references of {repo.id}", attempt)


def _newest_first(stores: Stores, repo: RepositoryRecord) -> list[CommitId]:
    """Return the commits of the log whose headers are readable, newest first. They are sorted by date, because a
    rewrite keeps dates but not generations.
    """
    folder = keys.internal_history(repo).headers
    found: list[tuple[datetime, int, CommitId]] = []
    for row in stores.kv.scan(folder.partition, prefix=folder.prefix):
        with suppress(CorruptData):
            id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="replace"))
            header = decode(folder.model, row.value, f"commit {id}")
            found.append((header.creation_date, header.generation, id))
    return [id for _, _, id in sorted(found, reverse=True)]


def _whole(stores: Stores, repo: RepositoryRecord, at: CommitId) -> StoredCommit | None:
    try:
        commit = read_internal(stores, repo, at)
        for _ in scan(stores.indexes(repo), commit.layout.index):
            pass
    except (CorruptData, NotFound):
        return None
    return commit


def _has_ancestors(stores: Stores, repo: RepositoryRecord, commit: StoredCommit) -> bool:
    """Return `True` if all ancestors of a commit can be read."""
    try:
        while commit.header.parents:
            commit = read_internal(stores, repo, commit.header.parents[0])
    except CorruptData:
        return False
    return True
