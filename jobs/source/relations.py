"""The relations of a repository, pinned: each says into which parts it is read, and reads one part.

They are made where a query is planned, and pickled to the workers, which open their own stores. What they hold never
changes: commit ids, the index of what a ref showed, or (branches, tags) the rows themselves. So a ref that moves
between planning and reading, or a task that runs twice, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import StructType

from graveler_core.committed.diff import differences
from graveler_core.committed.portions import Span
from graveler_core.engine import history, pinned, snapshot
from graveler_core.engine.pinned import Pinned
from graveler_core.engine.resolve import resolve_commit
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import Repository
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import CommitId
from graveler_core.model.names import repository_id
from graveler_core.stores import Stores
from jobs.source import columns
from jobs.source.options import ROWS, Relation, Source

_PAGE = 1_000
"""Commits, branches or tags in a batch."""


class Planned(Protocol):
    """A pinned relation."""

    def parts(self, stores: Stores) -> Sequence[Any]:
        """What a task each is to read; picklable."""
        ...

    def read(self, stores: Stores, part: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """A part's rows, with the columns of `schema`."""
        ...


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries that a ref showed."""

    pinned: Pinned
    spans: tuple[Span, ...]
    rows: int

    def parts(self, stores: Stores) -> Sequence[tuple[Span, ...]]:
        return [portion.spans for portion in pinned.entry_portions(stores, self.pinned, self.spans, self.rows)]

    def read(self, stores: Stores, part: tuple[Span, ...], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for table in pinned.entry_tables(stores, self.pinned, part):
            yield from columns.entry_batches(table, schema)


@dataclass(frozen=True, slots=True)
class Diff:
    """What the second of two commits has that the first has not."""

    repository: str
    sides: tuple[CommitId, CommitId]
    spans: tuple[Span, ...]
    rows: int
    commit: str = ""
    """For the column `commit_id`."""

    def parts(self, stores: Stores) -> Sequence[tuple[Span, ...]]:
        repo = record_of(stores, self.repository)
        portions = pinned.difference_portions(stores, repo, self.sides, self.spans, self.rows)
        return [portion.spans for portion in portions]

    def read(self, stores: Stores, part: tuple[Span, ...], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        repo = record_of(stores, self.repository)
        for span in part:
            for found in snapshot.diff(stores, repo, self.sides, span):
                yield from columns.difference_batches(found, schema, self.commit)


@dataclass(frozen=True, slots=True)
class Beginning:
    """All entries of a commit, as what it has added to nothing: how a stream begins."""

    entries: Entries

    def parts(self, stores: Stores) -> Sequence[tuple[Span, ...]]:
        return self.entries.parts(stores)

    def read(self, stores: Stores, part: tuple[Span, ...], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        at = self.entries.pinned
        for table in pinned.entry_tables(stores, at, part):
            found = differences(ENTRY_SCHEMA.empty_table(), table)
            yield from columns.difference_batches(found, schema, at.commit_id)


@dataclass(frozen=True, slots=True)
class Log:
    """A commit and its ancestors, in the order of the log: one part, as each commit is known by its children alone."""

    repository: str
    ref: CommitId
    since: CommitId | None
    prefix: str
    first_parent: bool

    def parts(self, stores: Stores) -> Sequence[str]:
        return [self.ref]

    def read(self, stores: Stores, part: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        repo = Graveler(stores).repository(self.repository)
        found = repo.log(part, since=self.since, prefix=self.prefix, first_parent=self.first_parent)
        for page in found.pages(_PAGE):
            yield from columns.row_batches(_columns_of(page.items, columns.LOG, "commit_id"), schema)


@dataclass(frozen=True, slots=True)
class Names:
    """Branches or tags. The rows travel with the parts: nothing else keeps what they were."""

    repository: str
    relation: Relation
    prefix: str

    def parts(self, stores: Stores) -> Sequence[dict[str, list[object]]]:
        repo = Graveler(stores).repository(self.repository)
        if self.relation is Relation.BRANCHES:
            return [
                _columns_of(page.items, columns.BRANCHES, "name") for page in repo.branches(self.prefix).pages(_PAGE)
            ]
        return [_columns_of(page.items, columns.TAGS, "name") for page in repo.tags(self.prefix).pages(_PAGE)]

    def read(self, stores: Stores, part: dict[str, list[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return columns.row_batches(part, schema)


def known_columns(relation: Relation) -> StructType:
    """All columns of a relation."""
    return {
        Relation.ENTRIES: columns.ENTRIES,
        Relation.DIFF: columns.DIFF,
        Relation.LOG: columns.LOG,
        Relation.BRANCHES: columns.BRANCHES,
        Relation.TAGS: columns.TAGS,
        Relation.CHANGES: columns.CHANGES,
    }[relation]


def planned(stores: Stores, source: Source) -> Planned:
    """Pin what a read asks for, as it is now.

    Raises:
        InvalidInput: an option holds no such value.
        NotFound: the repository, or what a ref names, does not exist.
    """
    repo = record_of(stores, source.repository)
    ref, rows = source.text("ref", repo.default_branch), source.number("partition_rows", ROWS)
    if source.relation is Relation.ENTRIES:
        return Entries(pinned.pin(stores, repo, ref), source.spans(), rows)
    if source.relation is Relation.DIFF:
        return Diff(source.repository, _sides(stores, repo, source), source.spans(), rows)
    if source.relation is Relation.LOG:
        since = source.text("since")
        without = resolve_commit(stores, repo, since).id if since else None
        head, first = resolve_commit(stores, repo, ref).id, source.flag("first_parent")
        return Log(source.repository, head, without, source.text("prefix"), first)
    return Names(source.repository, source.relation, source.text("prefix"))


def within(relation: Planned, spans: tuple[Span, ...]) -> Planned:
    """The same relation, but only these of its keys."""
    return replace(relation, spans=spans) if isinstance(relation, Entries | Diff) else relation


def record_of(stores: Stores, repository: str) -> Repository:
    """An active repository's record."""
    return snapshot.readable(stores, repository_id(repository))


def _sides(stores: Stores, repo: Repository, source: Source) -> tuple[CommitId, CommitId]:
    source.require("from", "to")
    left, right = (resolve_commit(stores, repo, source.text(name)) for name in ("from", "to"))
    if source.flag("since_merge_base"):
        left = history.base_of(stores, repo, left, right)
    return left.id, right.id


def _columns_of(page: Sequence[object], known: StructType, id: str) -> dict[str, list[object]]:
    """Records as columns; the one that is called `id` holds their ids."""
    return {name: [_value(record, "id" if name == id else name) for record in page] for name in known.names}


def _value(record: object, name: str) -> object:
    value = getattr(record, name)
    return list(value.items()) if isinstance(value, Mapping) else value
