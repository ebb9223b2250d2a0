"""Spark's side of a write. State travels in the pickled writer and in what tasks tell: `commit` runs elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from jobs.source.publishing import Job, publish
from jobs.source.target import Target
from jobs.source.upload import Uploaded, discard, upload


class Writer(DataSourceArrowWriter):
    """Writes a DataFrame into a directory, in one commit."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """Store a task's rows. Called in a worker, perhaps several times for one task."""
        return upload(self.target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit what the tasks stored."""
        publish(self.target, Job(told(messages), self.target.key, {}))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete what tasks stored, where one of them failed; then nothing was committed.

        Where all succeeded, it is the commit that failed, and perhaps only its answer was lost.
        """
        if any(message is None for message in messages):
            discard(self.target, told(messages))


def told(messages: list[WriterCommitMessage | None]) -> list[Uploaded]:
    """What tasks handed back."""
    return [message for message in messages if isinstance(message, Uploaded)]
