"""Setting the log of references back to a commit that is whole.

The references themselves do not need it: branches and tags are created, deleted and listed while the log is damaged,
and their events wait. The log goes back to the newest of its commits whose index can be read to its end, or begins
anew; one swap ✓ does it. Events that wait are in `pending/` still, and are logged by the next fold; what records
remember of creations and assignments comes back with them. A commit of a fold that lost its swap serves as well: all
that it holds has happened.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from graveler_core.codec.records import decode
from graveler_core.committed.index.scan import scan
from graveler_core.engine.reference_log import Log, point, read_internal
from graveler_core.engine.retry import attempts
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def mend(stores: Stores, repo: Repository) -> bool:
    """Go back to the newest commit of the log that is whole; gives whether that was needed."""
    where = keys.reference_log(repo)
    for _ in attempts(stores, f"log of references of {repo.id}"):
        held = access.read(stores.kv, where)
        if held is None or _whole(stores, repo, held.value.commit_id) is not None:
            return False
        whole = next((found for at in _newest_first(stores, repo) if (found := _whole(stores, repo, at))), None)
        if whole is None:
            done = access.remove(stores.kv, where, held)
        else:
            done = point(Log(stores, repo, held, whole), whole.id)
        if done:
            return True
    raise AssertionError("attempts() raises when it ends")


def _newest_first(stores: Stores, repo: Repository) -> list[CommitId]:
    """The commits of the log whose headers can be read: by date, which a rewriting keeps, unlike generations."""
    folder = keys.internal_history(repo).headers
    found: list[tuple[datetime, int, CommitId]] = []
    for row in stores.kv.scan(folder.partition, prefix=folder.prefix):
        with suppress(CorruptData):
            id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="replace"))
            header = decode(folder.model, row.value, f"commit {id}")
            found.append((header.creation_date, header.generation, id))
    return [id for _, _, id in sorted(found, reverse=True)]


def _whole(stores: Stores, repo: Repository, at: CommitId) -> StoredCommit | None:
    try:
        commit = read_internal(stores, repo, at)
        for _ in scan(stores.indexes(repo), commit.layout.index):
            pass
    except (CorruptData, NotFound):
        return None
    return commit
