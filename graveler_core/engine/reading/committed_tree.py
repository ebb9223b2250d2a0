"""Committed content as a source of pages. It never changes, so its pages need no closing re-read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.scan import scan
from graveler_core.engine.reading.pages import first_rows
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class CommittedTree:
    """Content of a commit, or of the compacted tree of a branch."""

    version: str
    """Name of the content. Trees of one store with the same name have the same entries."""
    indexes: Indexes
    index: Index

    def page(self, span: tuple[bytes, bytes | None], rows: int) -> pa.Table:
        """Return the first entries of a key interval, at most `rows`. There are fewer only at the end of the
        interval.
        """
        start, end = span
        return first_rows(scan(self.indexes, self.index, start=start, end=end, few=rows), rows)


def committed_tree(stores: Stores, repo: RepositoryRecord, id: CommitId | MetarangeId, index: Index) -> CommittedTree:
    """Return the content of a commit or of a compacted tree.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        id: Id of the commit or of the compacted tree.
        index: Its index.
    """
    return CommittedTree(f"{repo.uid}/{id}", stores.indexes(repo), index)
