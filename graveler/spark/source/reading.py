"""Spark's side of a read: partitions of a pinned relation as input partitions, and Arrow batches as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from graveler.spark.connection import Connection, unguarded
from graveler.spark.source.filters import accepted, may_be_pushed
from graveler.spark.source.relations import Planned, Scanned


class Reader(DataSourceReader):
    """Reader of a pinned relation, in partitions."""

    def __init__(self, connection: Connection, relation: Planned, schema: pa.Schema) -> None:
        self.connection = connection
        self.relation = relation
        self.schema = schema

    def partitions(self) -> list[InputPartition]:
        """Return one input partition for each partition of the relation. If there are none, Spark creates one with the
        value `None`.
        """
        return [InputPartition(part) for part in self.relation.parts(unguarded(self.connection))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition. Called in a worker."""
        return read_part(self.connection, self.relation, partition.value, self.schema)


class FilteringReader(Reader):
    """Reader that skips keys excluded by filters on `path`. Spark does not apply these filters again."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Accept the supported filters on `path`, and return the others."""
        if not isinstance(self.relation, Scanned):
            return filters
        intervals, rest = accepted(filters)
        self.relation = self.relation.within(intervals)
        return rest


def reader(connection: Connection, relation: Planned, schema: pa.Schema, *, filtering: bool) -> Reader:
    """Return a reader. It accepts filters if that was requested and Spark is about to push them down."""
    kind = FilteringReader if filtering and may_be_pushed() else Reader
    return kind(connection, relation, schema)


def read_part(connection: Connection, relation: Planned, part: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition; nothing for `None`."""
    return iter(()) if part is None else relation.read(unguarded(connection), part, schema)
