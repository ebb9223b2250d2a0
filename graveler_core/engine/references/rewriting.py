"""New commits of the log of references with the content of stored ones, under fresh ids.

Dates and changes are kept, and the time of the rewrite is added. A deletion of unreachable commits
(`engine.references.trimming`) that has already chosen its commits can therefore never delete a rewritten one.
"""

from __future__ import annotations

from datetime import datetime

from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.operations import operations_between
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.references.log import ReferenceLog
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.records import layout as keys

_REWRITTEN = "rewritten"
"""Metadata key of rewritten commits: time of the rewrite."""


def write_root(log: ReferenceLog, oldest: StoredCommit) -> StoredCommit:
    """Write a commit again without a parent, so that its changes are its whole content. Raises `CorruptData`."""
    indexes = log.stores.indexes(log.repository)
    index = Index(metarange_id=fold(indexes, oldest.layout.index, mapper=log.stores.executor.map))
    update = {
        "parents": (),
        "generation": 1,
        "operations": operations_between(indexes, None, index, oldest.header.version),
    }
    return _write(log, oldest.header.model_copy(update=update), index)


def write_child(log: ReferenceLog, parent: StoredCommit, commit: StoredCommit) -> StoredCommit:
    """Write a commit again, with another parent of the same content as its own."""
    update = {"parents": (parent.id,), "generation": parent.header.generation + 1}
    return _write(log, commit.header.model_copy(update=update), commit.layout.index)


def rewritten_at(commit: Commit) -> datetime | None:
    """Return the time at which a commit was rewritten, or `None`."""
    time = commit.metadata.get(_REWRITTEN)
    return None if time is None else datetime.fromisoformat(time)


def _write(log: ReferenceLog, header: Commit, index: Index) -> StoredCommit:
    stores = log.stores
    metadata = {**header.metadata, _REWRITTEN: stores.clock.now().isoformat()}
    header = header.model_copy(update={"metadata": metadata, "nonce": Nonce(stores.ids.fresh())})
    commit, writes = prepare(log.repository, header, Layout(index=index), keys.internal_history(log.repository))
    log.require_in_time()
    record_writes(stores, writes)
    return commit
