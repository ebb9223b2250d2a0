"""`format("graveler")`: what Spark makes of the options of a read, a write or a stream.

Spark makes one of these for each `load()`, in a Python process beside the driver, asks it for its columns, and keeps it
pickled. There the ref is pinned: a DataFrame shows one state, however often and from however many sides it is read.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from graveler_core.errors import InvalidInput
from jobs.connection import opened
from jobs.source.columns import wanted
from jobs.source.options import Relation, Source, read_source
from jobs.source.permitted import require_readable
from jobs.source.reading import Reader, reader
from jobs.source.relations import Planned, known_columns, planned
from jobs.source.streaming import StreamReader, stream_reader
from jobs.source.target import target_of
from jobs.source.writing import StreamWriter, Writer

NAME = "graveler"


class GravelerDataSource(DataSource):
    """A repository's entries, differences, log, branches and tags as DataFrames, and DataFrames as its files."""

    _pinned: tuple[Source, Planned] | None = None

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return NAME

    def schema(self) -> StructType:
        """All columns of the relation; pins it."""
        source = read_source(self.options)
        if source.relation is not Relation.CHANGES:
            self._pin(source)
        return known_columns(source.relation)

    def reader(self, schema: StructType) -> Reader:
        """Reads the columns that were asked for. Raises `InvalidInput` for a column that the relation has not."""
        source, relation = self._pinned or self._pin(read_source(self.options))
        columns = wanted(known_columns(source.relation), schema)
        return reader(source.connection.for_workers, relation, columns, filtering=source.flag("push_filters"))

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        """Writes rows as files under a path of a branch, in one commit."""
        return Writer(target_of(self.options, schema, overwrite=overwrite, stream=False))

    def streamReader(self, schema: StructType) -> StreamReader:
        """Reads what each batch of commits changed on a branch."""
        return stream_reader(read_source(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Writes each batch as `writer` writes a DataFrame; a complete result overwrites the one before."""
        return StreamWriter(target_of(self.options, schema, overwrite=overwrite, stream=True))

    def _pin(self, source: Source) -> tuple[Source, Planned]:
        if source.relation is Relation.CHANGES:
            raise InvalidInput("option 'relation': changes is for streams; a batch reads diff", option="relation")
        require_readable(source)
        self._pinned = source, planned(opened(source.connection), source)
        return self._pinned
