"""Spark's side of a read: parts of a pinned relation as input partitions, batches of Arrow as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from jobs.connection import Connection, opened
from jobs.source.filters import may_be_pushed, narrowed
from jobs.source.relations import Diff, Entries, Planned, within


class Reader(DataSourceReader):
    """Reads a pinned relation, in parts."""

    def __init__(self, connection: Connection, relation: Planned, schema: pa.Schema) -> None:
        self.connection = connection
        self.relation = relation
        self.schema = schema

    def partitions(self) -> list[InputPartition]:
        """One for each part. Where there is none, Spark makes one of None."""
        return [InputPartition(part) for part in self.relation.parts(opened(self.connection))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A part's rows. Called in a worker."""
        return read_part(self.connection, self.relation, partition.value, self.schema)


class FilteringReader(Reader):
    """Leaves out what filters on `path` exclude, without reading it. Spark does not look at these filters again."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters on `path` that are understood, and give back the others."""
        if not isinstance(self.relation, Entries | Diff):
            return filters
        spans, rest = narrowed(self.relation.spans, filters)
        self.relation = within(self.relation, spans)
        return rest


def reader(connection: Connection, relation: Planned, schema: pa.Schema, *, filtering: bool) -> Reader:
    """A reader; one that takes filters, where that was asked for and Spark is about to hand them over."""
    kind = FilteringReader if filtering and may_be_pushed() else Reader
    return kind(connection, relation, schema)


def read_part(connection: Connection, relation: Planned, part: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A part's rows; nothing for None."""
    return iter(()) if part is None else relation.read(opened(connection), part, schema)
