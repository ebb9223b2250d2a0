"""A branch as a stream: each batch is what its commits changed since the batch before.

An offset is the id of a commit: everything up to it has been read. It is in Spark's checkpoint before a batch is read,
and commits never change, so a batch that is read again is the same. A batch is the difference of two commits, so it
also tells what a hard reset took back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from graveler_core.engine import pinned
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.view import commit_of
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id
from graveler_core.refs import branches
from graveler_core.stores import Stores
from jobs.connection import opened
from jobs.source.columns import CHANGES, wanted
from jobs.source.options import ROWS, Relation, Source
from jobs.source.permitted import require_readable
from jobs.source.reading import read_part
from jobs.source.relations import Beginning, Diff, Entries, Planned, record_of

_COMMIT = "commit"
_NOTHING = ""
"""The offset before all commits."""
Offset = dict[str, str]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the relation `changes` of a branch."""

    def __init__(self, source: Source, schema: pa.Schema) -> None:
        self.source = source
        self.schema = schema
        self._until: CommitId | None = None

    def initialOffset(self) -> Offset:
        """The commit of the option `from`; without it, the first batch has all entries that there are."""
        ref = self.source.text("from")
        return {_COMMIT: resolve_commit(*self._at(), ref).id if ref else _NOTHING}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """The branch's head, or the commit that is `max_commits` behind `start` on the way to it."""
        head = self._until or self._head()
        most = self.source.options.get("max_commits")
        if most is None or head == start[_COMMIT]:
            return {_COMMIT: head}
        return {_COMMIT: _ahead(*self._at(), (start[_COMMIT], head), self.source.number("max_commits", 1))}

    def prepareForTriggerAvailableNow(self) -> None:
        """End at the head of now."""
        self._until = self._head()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Parts of a batch; none where nothing was committed."""
        if start == end:
            return []
        require_readable(self.source)
        relation = self._changes(start[_COMMIT], CommitId(end[_COMMIT]))
        return [InputPartition((relation, part)) for part in relation.parts(self._stores())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A part's rows. Called in a worker."""
        relation, part = partition.value
        return read_part(self.source.connection, relation, part, self.schema)

    def _changes(self, start: str, end: CommitId) -> Planned:
        spans, rows = self.source.spans(), self.source.number("partition_rows", ROWS)
        if start == _NOTHING:
            return Beginning(Entries(pinned.pin(*self._at(), end), spans, rows))
        return Diff(self.source.repository, (CommitId(start), end), spans, rows, end)

    def _head(self) -> CommitId:
        stores, repo = self._at()
        name = branch_id(self.source.text("ref", repo.default_branch))
        return branches.get_branch(stores.kv, repo, name).value.commit_id

    def _at(self) -> tuple[Stores, Repository]:
        stores = self._stores()
        return stores, record_of(stores, self.source.repository)

    def _stores(self) -> Stores:
        return opened(self.source.connection)


def stream_reader(source: Source, schema: StructType) -> StreamReader:
    """A stream of changes. Raises `InvalidInput` for another relation, or columns that it has not."""
    if source.relation is not Relation.CHANGES:
        raise InvalidInput(f"option 'relation': a stream reads changes, not {source.relation}", option="relation")
    source.number("max_commits", 1)
    require_readable(source)
    return StreamReader(source, wanted(CHANGES, schema))


def _ahead(stores: Stores, repo: Repository, ends: tuple[str, CommitId], most: int) -> CommitId:
    """The commit so many behind the first on the way of first parents to the second; the second, where none leads."""
    start, head = ends
    behind = commit_of(stores, repo, CommitId(start)).header.generation if start else 0
    way = deque([head], maxlen=most)
    while True:
        commit = commit_of(stores, repo, way[-1])
        above = commit.header.parents[:1]
        if above == (start,) or not above:
            return way[0]
        if commit.header.generation <= behind:
            return head
        way.append(above[0])
