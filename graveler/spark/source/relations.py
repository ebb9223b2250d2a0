"""Pinned relations of a repository. Each divides itself into partitions, and reads one partition.

They are created when a query is planned, and pickled to the workers, which open their own stores. Their content is
immutable: the plan of a scan, a commit id, or (branches, tags) the rows themselves. So the result does not change if a
ref moves between planning and reading, or if a task runs twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import StructType

from graveler.spark.source import columns
from graveler.spark.source.options import Relation, Source
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.scan import Scan
from graveler_core.model.entities import Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.key_intervals import KeyInterval
from graveler_core.model.scan import EntryScanPlan, ScanPartition, ScanPlan

_PAGE = 1_000
"""Commits, branches or tags per batch."""


class Planned(Protocol):
    """Pinned relation."""

    def parts(self, graveler: Graveler) -> Sequence[Any]:
        """Return the partitions, one per task; picklable."""
        ...

    def read(self, graveler: Graveler, part: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, with the columns of `schema`."""
        ...


@dataclass(frozen=True, slots=True)
class Scanned:
    """Entries of the state of a ref, or changes between two commits."""

    plan: ScanPlan
    rows: int
    commit: str = ""
    """Value of the column `commit_id`."""

    def parts(self, graveler: Graveler) -> Sequence[ScanPartition]:
        return self._scan(graveler).partitions(self.rows)

    def read(self, graveler: Graveler, part: ScanPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in self._scan(graveler).read(part):
            if isinstance(self.plan, EntryScanPlan):
                yield columns.entry_batch(batch, schema)
            else:
                yield columns.change_batch(batch, schema, self.commit)

    def within(self, intervals: Sequence[KeyInterval]) -> Scanned:
        """Return the same relation, restricted to some keys."""
        return replace(self, plan=self.plan.within(intervals))

    def _scan(self, graveler: Graveler) -> Scan:
        return graveler.repository(self.plan.repository).open_scan(self.plan)


@dataclass(frozen=True, slots=True)
class Log:
    """A commit and its ancestors, in log order. One partition, because each commit is known only from its children."""

    repository: str
    ref: CommitId
    since: CommitId | None
    prefix: str
    first_parent: bool

    def parts(self, graveler: Graveler) -> Sequence[str]:
        return [self.ref]

    def read(self, graveler: Graveler, part: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        repo = graveler.repository(self.repository)
        found = repo.log(part, since=self.since, prefix=self.prefix, first_parent=self.first_parent)
        for page in found.pages(_PAGE):
            yield from columns.row_batches(_columns_of(page.items, columns.LOG, "commit_id"), schema)


@dataclass(frozen=True, slots=True)
class Names:
    """Branches or tags. The rows are part of the partitions, because no other record keeps them unchanged."""

    repository: str
    relation: Relation
    within: tuple[str, str, str | None]
    """Prefix, start and end of the names."""

    def parts(self, graveler: Graveler) -> Sequence[dict[str, list[object]]]:
        repo = graveler.repository(self.repository)
        prefix, start, end = self.within
        if self.relation is Relation.BRANCHES:
            branches = repo.branches(prefix, start=start, end=end)
            return [_columns_of(page.items, columns.BRANCHES, "name") for page in branches.pages(_PAGE)]
        tags = repo.tags(prefix, start=start, end=end)
        return [_columns_of(page.items, columns.TAGS, "name") for page in tags.pages(_PAGE)]

    def read(self, graveler: Graveler, part: dict[str, list[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return columns.row_batches(part, schema)


def known_columns(relation: Relation) -> StructType:
    """Return all columns of a relation."""
    return {
        Relation.ENTRIES: columns.ENTRIES,
        Relation.DIFF: columns.DIFF,
        Relation.LOG: columns.LOG,
        Relation.BRANCHES: columns.BRANCHES,
        Relation.TAGS: columns.TAGS,
        Relation.CHANGES: columns.CHANGES,
    }[relation]


def planned(graveler: Graveler, source: Source) -> Planned:
    """Pin the relation that a read requests, in its current state.

    The handle checks the caller's permission to read the relation. The workers that read it later receive no
    credentials.

    Raises:
        InvalidInput: An option has an invalid value.
        NotFound: The repository, or the target of a ref, does not exist.
        PermissionDenied: Access control is on, and the caller may not read the relation.
    """
    repo = graveler.repository(source.repository)
    ref, prefix = source.text("ref", repo.default_branch), source.text("prefix")
    if source.relation is Relation.ENTRIES:
        rows = source.rows()
        return Scanned(repo.at(ref).scan(*source.keys()).plan, rows)
    if source.relation is Relation.DIFF:
        source.require("left", "right")
        rows, since_merge_base = source.rows(), source.flag("since_merge_base")
        left, right = source.text("left"), source.text("right")
        return Scanned(repo.scan_diff(left, right, *source.keys(), since_merge_base=since_merge_base).plan, rows)
    if source.relation is Relation.LOG:
        since, first_parent = source.text("since"), source.flag("first_parent")
        repo.log(ref, since=since or None, prefix=prefix)  # a listing checks the permission when it is created
        return Log(repo.id, _newest(repo, ref), _newest(repo, since) if since else None, prefix, first_parent)
    _, start, end = source.keys()
    if source.relation is Relation.BRANCHES:
        repo.branches(prefix, start=start, end=end)
    else:
        repo.tags(prefix, start=start, end=end)
    return Names(repo.id, source.relation, (prefix, start, end))


def _newest(repo: Repository, ref: str) -> CommitId:
    """Return the commit of a ref: the first commit of its log. The caller needs only the permission to list commits."""
    return next(repo.log(ref, limit=1)).id


def _columns_of(page: Sequence[object], known: StructType, id: str) -> dict[str, list[object]]:
    """Return records as columns; the column `id` holds their ids."""
    return {name: [_value(record, "id" if name == id else name) for record in page] for name in known.names}


def _value(record: object, name: str) -> object:
    value = getattr(record, name)
    if isinstance(value, Tag):
        return value.id
    return list(value.items()) if isinstance(value, Mapping) else value
