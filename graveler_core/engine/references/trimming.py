"""Rewrite of the log of references: keep its newest commits, and combine all earlier ones with the oldest that is kept.

1. Read the newest commits, along first parents. If there are fewer than should be kept, do nothing.
2. Write them again, with their own changes and dates, and with the time of the rewrite. The oldest gets no parent, and
   its content is one tree with everything that was logged up to it. Each other commit follows the previous one. Nothing
   refers to them: a crash leaves garbage.
3. ✓ Swap `refs/int/refs` once, to the newest commit. If a fold came first, the swap fails, and everything is
   repeated.

The logged events are the same before and after. Commits that are no longer reachable are deleted by a later call, a
day after the rewrite that removed them, when all readers of the former head have ended. The same applies to commits
of folds that lost their swap. Commit ids are never reused, so the deletion cannot delete another commit.

While a call looks for such commits, folds and other rewrites may write commits that cannot be reached from the head
that it has read, and swap the reference to them. The call recognizes them by their date, and rewritten ones by the time
of their rewrite, because they keep the dates of the commits that they replace. This requires that no flow takes a day
from writing a commit to its swap.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from graveler_core.codec.records import decode
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.operations import operations_between
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.references.log import ReferenceLog, point, read_internal, read_log
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

KEPT_FOR = timedelta(days=1)
"""Time for which commits stay readable after the log no longer contains them."""
_REWRITTEN = "rewritten"
"""Metadata key of rewritten commits: time of the rewrite."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Result of a rewrite."""

    folded: int
    """Number of commits that were combined with the oldest one that was kept."""
    deleted: int
    """Number of deleted commits that had been unreachable for a day."""


def trim(stores: Stores, repo: RepositoryRecord, keep: int) -> Trimmed:
    """Keep the newest commits of the log, at least one, and combine the oldest of them with all earlier ones.

    Raises:
        InvalidInput: The number of commits to keep is less than one.
        CorruptData: A commit of the log is missing or damaged.
    """
    if keep < 1:
        raise InvalidInput(f"keep {keep}: at least one commit of the log of references must be kept")

    def attempt() -> Trimmed | None:
        # Before the log is read, so that everything that others add to it afterwards is younger.
        before = stores.clock.now() - KEPT_FOR
        log = read_log(stores, repo)
        if log.head is None:
            return Trimmed(0, 0)
        deleted = _forget(stores, repo, log.head, before)
        folded = log.head.header.generation - keep
        if folded <= 0:
            return Trimmed(0, deleted)
        return Trimmed(folded, deleted) if point(log, _rewritten(log, log.head, keep)) else None

    return retry(stores, f"log of references of {repo.id}", attempt)


def _rewritten(log: ReferenceLog, head: StoredCommit, keep: int) -> CommitId:
    """Write the newest commits again. Return the id of the newest."""
    stores, repo = log.stores, log.repository
    kept = [head]
    while len(kept) < keep:
        kept.append(read_internal(stores, repo, kept[-1].header.parents[0]))
    made = _write(log, *_root(log, kept.pop()))
    for commit in reversed(kept):
        update = {"parents": (made.id,), "generation": made.header.generation + 1}
        made = _write(log, commit.header.model_copy(update=update), commit.layout.index)
    return made.id


def _root(log: ReferenceLog, oldest: StoredCommit) -> tuple[Commit, Index]:
    """Return the oldest commit without a parent, so that its changes are its whole content."""
    indexes = log.stores.indexes(log.repository)
    index = Index(metarange_id=fold(indexes, oldest.layout.index, mapper=log.stores.executor.map))
    update = {
        "parents": (),
        "generation": 1,
        "operations": operations_between(indexes, None, index, oldest.header.version),
    }
    return oldest.header.model_copy(update=update), index


def _write(log: ReferenceLog, header: Commit, index: Index) -> StoredCommit:
    metadata = {**header.metadata, _REWRITTEN: log.stores.clock.now().isoformat()}
    header = header.model_copy(update={"metadata": metadata})
    commit, writes = prepare(log.repository, header, Layout(index=index), keys.internal_history(log.repository))
    record_writes(log.stores, writes)
    return commit


def _forget(stores: Stores, repo: RepositoryRecord, head: StoredCommit, before: datetime) -> int:
    """Delete the unreachable commits that were created and rewritten before a time, so that no reader uses them."""
    folders = keys.internal_history(repo)
    found: dict[str, Commit] = {}
    for row in stores.kv.scan(folders.headers.partition, prefix=folders.headers.prefix):
        id = row.key.removeprefix(folders.headers.prefix).decode(errors="replace")
        found[id] = decode(folders.headers.model, row.value, f"commit {id} of the log of references")
    at, oldest = head.header, head.header
    while at.parents:
        parent = at.parents[0]
        at = oldest = found.pop(parent) if parent in found else read_internal(stores, repo, parent).header
    if _rewritten_since(before, oldest):
        return 0
    gone = [
        id
        for id, commit in found.items()
        if id != head.id and commit.creation_date < before and not _rewritten_since(before, commit)
    ]
    for id in gone:
        for folder in (folders.headers, folders.layouts):
            where = folder.at(id)
            stores.kv.delete(where.partition, where.key)
    return len(gone)


def _rewritten_since(before: datetime, commit: Commit) -> bool:
    time = commit.metadata.get(_REWRITTEN)
    return time is not None and datetime.fromisoformat(time) >= before
