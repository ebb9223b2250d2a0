"""Spark's side of a write. State travels in the pickled writer and in what tasks tell: `commit` runs elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from graveler_core.errors import InvalidInput
from jobs.source.publishing import Job, publish
from jobs.source.staging import stage
from jobs.source.target import Target
from jobs.source.upload import Uploaded, discard, upload


class Writer(DataSourceArrowWriter):
    """Writes a DataFrame into a directory: in one commit, or to be committed with what else is staged on the branch."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """Store a task's rows. Called in a worker, perhaps several times for one task."""
        return upload(self.target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit, or stage, what the tasks stored."""
        if self.target.staged:
            stage(self.target, told(messages))
        else:
            publish(self.target, Job(told(messages), self.target.key, {}))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete what tasks stored, where one of them failed; then nothing was committed.

        Where all succeeded, it is the commit that failed, and perhaps only its answer was lost.
        """
        if any(message is None for message in messages):
            discard(self.target, told(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes each batch of a stream into a directory, in one commit, known by the query and the batch.

    Spark writes a batch again when it cannot know whether it was committed. The id of a query stays the same when it is
    started again from its checkpoint; Spark tells it to tasks alone, and they tell the driver.
    """

    def __init__(self, target: Target) -> None:
        self.target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """As `Writer.write`."""
        return upload(self.target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit what the tasks stored of a batch; nothing for an empty batch that is appended."""
        uploaded = told(messages)
        query = self.target.query or next((each.query for each in uploaded if each.query), "")
        if not query:
            raise InvalidInput("option 'query': is needed, as Spark does not tell the id of the query", option="query")
        said = {"spark.query": query, "spark.batch": str(batchId)}
        publish(self.target, Job(uploaded, f"spark/{query}/{batchId}", said))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """As `Writer.abort`."""
        if any(message is None for message in messages):
            discard(self.target, told(messages))


def told(messages: list[WriterCommitMessage | None]) -> list[Uploaded]:
    """What tasks handed back."""
    return [message for message in messages if isinstance(message, Uploaded)]
