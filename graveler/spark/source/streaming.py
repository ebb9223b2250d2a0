"""A branch as a stream: each batch contains the changes of its commits since the previous batch.

An offset is the id of a commit up to which everything was read, and of the commit after which its batch begins. Spark
stores it in its checkpoint before it reads a batch, and commits are immutable, so a batch that is read again is the
same. The initial offset is not stored. Without the second id, the first batch would begin elsewhere after a restart if
the ref of the option `since` has moved. A batch is the difference of two commits, so it also shows the changes that a
hard reset reverted.

The permission is checked where offsets and partitions are planned. Spark pickles the reader for the workers, and the
pickle has no credentials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from graveler.spark.connection import guarded, unguarded
from graveler.spark.source.columns import CHANGES, wanted
from graveler.spark.source.options import Relation, Source
from graveler.spark.source.reading import read_part
from graveler.spark.source.relations import Scanned
from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import CommitId

_COMMIT = "commit"
_AFTER = "after"
"""Commit after which the batch of an offset begins."""
_NOTHING = ""
"""Offset before all commits."""
Offset = dict[str, str]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of the relation `changes` of a branch."""

    def __init__(self, source: Source, schema: pa.Schema) -> None:
        self.source = source
        self.schema = schema
        self._until: CommitId | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what Spark sends to workers, which only read partitions: everything but the credentials."""
        return {**vars(self), "source": self.source.for_workers}

    def initialOffset(self) -> Offset:
        """Return the commit of the option `since`. Without it, the first batch has all existing entries."""
        ref = self.source.text("since")
        commit = self._repository().commit(ref).id if ref else _NOTHING
        return {_COMMIT: commit, _AFTER: commit}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the branch's head, or the commit `max_commits` after `start` on the path to it."""
        most = self.source.number("max_commits", 1) if "max_commits" in self.source.options else None
        commit = self._offset(start[_COMMIT] or None, most, self._until)
        return start if commit == start[_COMMIT] else {_COMMIT: commit, _AFTER: start[_COMMIT]}

    def prepareForTriggerAvailableNow(self) -> None:
        """End the stream at the current head."""
        self._until = self._head()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the partitions of a batch; none if nothing was committed."""
        after = end.get(_AFTER, start[_COMMIT])
        if start == end or after == end[_COMMIT]:
            return []
        require_readable(self.source)
        relation = self._changes(after or None, end[_COMMIT])
        return [InputPartition((relation, part)) for part in relation.parts(unguarded(self.source.connection))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition. Called in a worker."""
        relation, part = partition.value
        return read_part(self.source.connection, relation, part, self.schema)

    def _changes(self, start: str | None, end: str) -> Scanned:
        scan = self._repository().scan_diff(start, end, *self.source.keys())
        return Scanned(scan.plan, self.source.rows(), end)

    def _head(self) -> CommitId:
        return self._offset()

    def _offset(
        self, after: str | None = None, max_commits: int | None = None, until: CommitId | None = None
    ) -> CommitId:
        repo = self._repository()
        return repo.next_offset(self.source.text("ref", repo.default_branch), after, max_commits, until)

    def _repository(self) -> Repository:
        """Return a handle without checks: the permission was checked when the stream was opened."""
        return unguarded(self.source.connection).repository(self.source.repository)


def stream_reader(source: Source, schema: StructType) -> StreamReader:
    """Return a reader of changes. Raise `InvalidInput` for another relation, or a column that it does not have."""
    if source.relation is not Relation.CHANGES:
        raise InvalidInput(
            f"option 'relation': must be 'changes' for a stream, but is {str(source.relation)!r}", option="relation"
        )
    source.number("max_commits", 1)
    require_readable(source)
    return StreamReader(source, wanted(CHANGES, schema))


def require_readable(source: Source) -> None:
    """Raise if the caller may not read the changes of a branch. Called before a stream begins, and for each batch.

    Raises:
        PermissionDenied: Access control is on, and the caller's credentials are missing, wrong or insufficient.
    """
    repo = guarded(source.connection).repository(source.repository)
    branch, prefix = repo.branch(source.text("ref", repo.default_branch)), source.text("prefix")
    repo.log(branch.name)  # a listing checks the permission when it is created, and reads nothing
    repo.at(branch.name).list(prefix)
    if source.text("since"):  # the first batch also shows the content of that commit
        repo.diff(source.text("since"), branch.name, prefix)
