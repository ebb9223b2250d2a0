"""Conversion of commits that another tool made. Values that only graveler computes are added.

A foreign commit has parents, and a tree in the storage namespace as its content. Its generation is computed from its
parents, which precede it in the dump. Its layout is the tree without further layers. Its operations are the differences
between its tree and the tree of its first parent. The id of a commit covers these values, so it gets a new id. The
nonce is a hash of the foreign commit, so a repetition gives the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Foreign commits of a dump that were read so far, about 400 bytes for each."""

    indexes: Indexes
    known: dict[str, StoredCommit] = field(default_factory=dict)
    """New commits by their foreign ids."""

    def take(self, data: bytes) -> list[Write]:
        """Return the writes that store a row of a dump.

        Raises:
            CorruptData: A part of its tree, or of the tree of its first parent, is missing or damaged.
        """
        foreign = decode(ForeignCommit, data, "a foreign commit")
        index = Index(metarange_id=foreign.metarange_id)
        parents = [self.known[parent] for parent in foreign.parents]
        operations = operations_between(self.indexes, parents[0].layout.index if parents else None, index)
        named = [(parent.id, parent.header.generation) for parent in parents]
        header = foreign_header(foreign, data, named, operations)
        self.known[foreign.id], writes = prepare(self.indexes.objects.repository, header, Layout(index=index))
        return writes

    def named(self, id: str) -> CommitId:
        """Return the new id of the commit to which a branch or tag of the dump refers."""
        known = self.known.get(id)
        return CommitId(id) if known is None else known.id


def foreign_header(
    foreign: ForeignCommit, data: bytes, parents: Sequence[tuple[CommitId, int]], operations: str
) -> Commit:
    """Return the header of a new commit. It depends only on the arguments.

    Args:
        foreign: The foreign commit.
        data: Its encoding, of which the nonce is a hash.
        parents: Id and generation of each parent.
        operations: Hex digest of the changes against the first parent.
    """
    return Commit(
        committer=foreign.committer,
        message=foreign.message,
        creation_date=foreign.creation_date,
        parents=tuple(id for id, _ in parents),
        metadata=foreign.metadata,
        generation=1 + max((generation for _, generation in parents), default=0),
        nonce=Nonce(HASH(data).hexdigest()[:32]),
        operations=operations,
    )
