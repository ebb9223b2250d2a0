"""Commits that something else made, as commits of ours: what they lack is computed.

A foreign commit says its content, by a tree in the storage namespace, and its parents. Its generation follows from the
parents', which stand before it; its layout is that tree and nothing above it; its operations are how the tree differs
from the first parent's. A commit's id covers all of these, so it gets a new one. The nonce is a hash of the foreign
commit, so that a repetition gives the same id.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.codec.content_hash import HASH
from graveler_core.codec.records import decode
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.operations import operations_between
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.objects.objects import Write


@dataclass(slots=True)
class ForeignCommits:
    """The foreign commits of a dump so far: some 400 bytes each."""

    indexes: Indexes
    known: dict[str, StoredCommit] = field(default_factory=dict)
    """By their foreign ids."""

    def take(self, data: bytes) -> list[Write]:
        """The writes that store a row of a dump.

        Raises:
            CorruptData: a part of its tree, or of its first parent's, is missing or damaged.
        """
        foreign = decode(ForeignCommit, data, "a foreign commit")
        index = Index(metarange_id=foreign.metarange_id)
        parents = [self.known[parent] for parent in foreign.parents]
        header = Commit(
            committer=foreign.committer,
            message=foreign.message,
            creation_date=foreign.creation_date,
            parents=tuple(parent.id for parent in parents),
            metadata=foreign.metadata,
            generation=1 + max((parent.header.generation for parent in parents), default=0),
            nonce=Nonce(HASH(data).hexdigest()[:32]),
            operations=operations_between(self.indexes, parents[0].layout.index if parents else None, index),
        )
        self.known[foreign.id], writes = prepare(self.indexes.objects.repository, header, Layout(index=index))
        return writes

    def named(self, id: str) -> CommitId:
        """The commit that a branch or tag of the dump names."""
        known = self.known.get(id)
        return CommitId(id) if known is None else known.id
