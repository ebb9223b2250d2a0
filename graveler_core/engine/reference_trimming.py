"""Rewriting the log of references: its newest commits stay, what came before them is folded into the oldest that stays.

1. The newest commits are read, by first parents. Fewer than are to stay: nothing is done.
2. They are written anew, with what each changed and when: the oldest without a parent, its content as one tree that
   holds all that was logged up to it; each other one on the one before it. Unreachable: a crash leaves garbage.
3. ✓ One swap of `refs/int/refs` to the newest. A fold that came first makes it fail, and all is done again.

What is logged is the same before and after, event by event. Commits that nothing leads to any more are deleted by a
later call, a day after the rewriting that let go of them, when whoever had read the former head has come to an end; and
so are those of folds that lost their swap. Ids of commits are never made again, so that deletes what it means to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from graveler_core.codec.records import decode
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.operations import operations_between
from graveler_core.engine.reference_log import Log, point, read_internal, read_log
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Commit, Layout, Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

KEPT_FOR = timedelta(days=1)
"""Commits that the log has let go of can be read for so long."""
_REWRITTEN = "rewritten"
"""In the metadata of the oldest commit: when the log was rewritten."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What became of the log's commits."""

    folded: int
    """Commits that are one now, with the oldest that stayed."""
    deleted: int
    """Commits that nothing had led to for a day, and are gone."""


def trim(stores: Stores, repo: Repository, keep: int) -> Trimmed:
    """Keep the newest commits of the log, at least one, and make one of the oldest of them and all before it.

    Raises:
        InvalidInput: fewer than one are to be kept.
        CorruptData: a commit of the log is missing or damaged.
    """
    if keep < 1:
        raise InvalidInput(f"keep {keep}: at least one commit of the log of references must be kept")
    for _ in attempts(stores, f"log of references of {repo.id}"):
        log = read_log(stores, repo)
        if log.head is None:
            return Trimmed(0, 0)
        deleted = _forget(stores, repo, log.head)
        folded = log.head.header.generation - keep
        if folded <= 0:
            return Trimmed(0, deleted)
        if point(log, _rewritten(log, log.head, keep)):
            return Trimmed(folded, deleted)
    raise AssertionError("attempts() raises when it ends")


def _rewritten(log: Log, head: StoredCommit, keep: int) -> CommitId:
    """Write the newest commits anew; the id of the newest."""
    stores, repo = log.stores, log.repository
    kept = [head]
    while len(kept) < keep:
        kept.append(read_internal(stores, repo, kept[-1].header.parents[0]))
    made = _write(log, *_root(log, kept.pop()))
    for commit in reversed(kept):
        update = {"parents": (made.id,), "generation": made.header.generation + 1}
        made = _write(log, commit.header.model_copy(update=update), commit.layout.index)
    return made.id


def _root(log: Log, oldest: StoredCommit) -> tuple[Commit, Index]:
    """The oldest commit as one that has no parent, and so made all that it holds."""
    indexes = log.stores.indexes(log.repository)
    index = Index(metarange_id=fold(indexes, oldest.layout.index, mapper=log.stores.executor.map))
    update = {
        "parents": (),
        "generation": 1,
        "operations": operations_between(indexes, None, index, oldest.header.version),
        "metadata": {**oldest.header.metadata, _REWRITTEN: log.stores.clock.now().isoformat()},
    }
    return oldest.header.model_copy(update=update), index


def _write(log: Log, header: Commit, index: Index) -> StoredCommit:
    commit, writes = prepare(log.repository, header, Layout(index=index), keys.internal_history(log.repository))
    record_writes(log.stores, writes)
    return commit


def _forget(stores: Stores, repo: Repository, head: StoredCommit) -> int:
    """Delete the commits that nothing has led to for so long that nobody reads them."""
    folders, before = keys.internal_history(repo), stores.clock.now() - KEPT_FOR
    found: dict[str, Commit] = {}
    for row in stores.kv.scan(folders.headers.partition, prefix=folders.headers.prefix):
        id = row.key.removeprefix(folders.headers.prefix).decode(errors="replace")
        found[id] = decode(folders.headers.model, row.value, f"commit {id} of the log of references")
    at, oldest = head.header, head.header
    while at.parents:
        parent = at.parents[0]
        at = oldest = found.pop(parent) if parent in found else read_internal(stores, repo, parent).header
    rewritten = oldest.metadata.get(_REWRITTEN)
    if rewritten is not None and datetime.fromisoformat(rewritten) > before:
        return 0
    gone = [id for id, commit in found.items() if id != head.id and commit.creation_date < before]
    for id in gone:
        for folder in (folders.headers, folders.layouts):
            where = folder.at(id)
            stores.kv.delete(where.partition, where.key)
    return len(gone)
