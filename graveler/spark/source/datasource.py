"""`format("graveler")`: create readers and writers from the options of a read, a write or a stream.

Spark creates a data source for each `load()`, in a Python process next to the driver, requests its columns, and keeps
it pickled. The ref is pinned at that time, so that a DataFrame shows one state, however often it is read. Branches and
tags are read when a query is planned.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from graveler.spark.connection import guarded
from graveler.spark.source.columns import wanted
from graveler.spark.source.options import Relation, Source, read_source
from graveler.spark.source.reading import Reader, reader
from graveler.spark.source.relations import Planned, known_columns, planned
from graveler.spark.source.streaming import StreamReader, stream_reader
from graveler.spark.source.target import target_of
from graveler.spark.source.writing import StreamWriter, Writer
from graveler_core.errors import InvalidInput

NAME = "graveler"


class GravelerDataSource(DataSource):
    """Data source: entries, differences, log, branches and tags of a repository as DataFrames, and DataFrames as its
    files.
    """

    _pinned: tuple[Source, Planned] | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name for `format()`."""
        return NAME

    def schema(self) -> StructType:
        """Return all columns of the relation, and pin it."""
        source = read_source(self.options)
        if source.relation is not Relation.CHANGES:
            self._pin(source)
        return known_columns(source.relation)

    def reader(self, schema: StructType) -> Reader:
        """Return a reader of the requested columns. Raise `InvalidInput` if the relation does not have one of them."""
        source, relation = self._pinned or self._pin(read_source(self.options))
        columns = wanted(known_columns(source.relation), schema)
        return reader(source.connection.for_workers, relation, columns, filtering=source.flag("push_filters"))

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        """Return a writer that stores rows as files under a path of a branch, in one commit."""
        return Writer(target_of(self.options, schema, overwrite=overwrite, stream=False))

    def streamReader(self, schema: StructType) -> StreamReader:
        """Return a reader of the changes on a branch, by batches of commits."""
        return stream_reader(read_source(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Return a writer that writes each batch as `writer` writes a DataFrame. A complete result overwrites the
        previous one.
        """
        return StreamWriter(target_of(self.options, schema, overwrite=overwrite, stream=True))

    def _pin(self, source: Source) -> tuple[Source, Planned]:
        if source.relation is Relation.CHANGES:
            raise InvalidInput(
                "option 'relation': 'changes' requires a stream; use 'diff' in a batch", option="relation"
            )
        self._pinned = source, planned(guarded(source.connection), source)
        return self._pinned
