"""Indexes and ids of foreign commits, computed from their changes and the index of their first parent."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from graveler_core.codec.records import encode
from graveler_core.committed.index.successor import successor
from graveler_core.committed.node import EMPTY
from graveler_core.committed.trees import encoded
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import Layout, RepositoryRecord
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare, read_commit
from graveler_core.stores import Stores
from graveler_core.transfer.foreign import foreign_header
from graveler_core.transfer.migrated import CommitBatches

EMPTY_INDEX = Index(metarange_id=MetarangeId(encoded(EMPTY)[0]))


@dataclass(frozen=True, slots=True)
class CommitIndexer:
    """Writes foreign commits with their indexes, parents before children. Not thread-safe."""

    stores: Stores
    repository: RepositoryRecord
    made: dict[str, CommitId]
    """New ids of the commits that are known, by their ids in the source."""
    batches: CommitBatches
    waiting: dict[CommitId, StoredCommit] = field(default_factory=dict)
    """Commits that are not written yet."""

    def write(self, foreign: ForeignCommit, changes: pa.Table) -> None:
        """Write a commit whose parents exist, or were passed to this indexer before.

        Args:
            foreign: Header of the commit.
            changes: Changes in `RECORD_SCHEMA`, with ascending keys.

        Raises:
            CorruptData: A parent is unknown (`CorruptCommit`), or an object of its index is missing or damaged.
        """
        parents = [self._stored(foreign, parent) for parent in foreign.parents]
        base = parents[0].layout.index if parents else EMPTY_INDEX
        built = successor(self.stores.indexes(self.repository), base, changes, mapper=self.stores.executor.map)
        named = [(parent.id, parent.header.generation) for parent in parents]
        header = foreign_header(foreign, encode(foreign), named, built.operations)
        stored, writes = prepare(self.repository, header, Layout(index=built.index))
        self.made[foreign.id] = stored.id
        self.waiting[stored.id] = stored
        self.batches.add(foreign.id, stored.id, [*built.writes, *writes])
        # The next commit may read the runs of this one, so they are written now.
        if built.writes and not self.batches.empty:
            self.batches.flush()
        if self.batches.empty:
            self.waiting.clear()

    def _stored(self, foreign: ForeignCommit, parent: str) -> StoredCommit:
        id = self.made.get(parent)
        if id is None:
            why = f"commit {foreign.id}: its parent {parent} is missing"
            raise CorruptData(why, kind=Kind.CorruptCommit, commit=foreign.id)
        waiting = self.waiting.get(id)
        return waiting or read_commit(self.stores.kv, self.stores.commits, self.repository, id)
