"""Spark's side of a write. State is passed in the pickled writer and in the messages of the tasks, because `commit`
runs in another process.

Tasks need no credentials, and get none. Spark pickles the writer of a batch twice: first with the function of the
tasks, then for `commit`, which runs beside the driver and checks the permissions. For the `commit` of a stream it
creates another writer from the options, so the pickled one never has credentials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from graveler.spark.source.publishing import Job, StreamBatch, publish
from graveler.spark.source.staging import stage
from graveler.spark.source.target import Target
from graveler.spark.source.upload import Uploaded, discard, upload
from graveler_core.errors import InvalidInput


class Writer(DataSourceArrowWriter):
    """Writer of a DataFrame into a directory: in one commit, or staged for a later commit of the branch."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._sent_to_tasks = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: for the tasks, without credentials, at the first call; for `commit` at later
        calls.
        """
        target = self.target if self._sent_to_tasks else self.target.for_workers
        self._sent_to_tasks = True
        return {**vars(self), "target": target}

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """Store a task's rows. Called in a worker, perhaps several times for one task."""
        return upload(self.target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit or stage the files of the tasks."""
        if self.target.staged:
            stage(self.target, told(messages))
        else:
            publish(self.target, Job(told(messages), self.target.key))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks after one of them failed; nothing was committed then.

        If all tasks succeeded, the commit failed, and perhaps only its response was lost.
        """
        if any(message is None for message in messages):
            discard(self.target, told(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writer of each batch of a stream into a directory, in one commit identified by the query and the batch.

    Spark repeats a batch if it cannot know that it was committed. The id of a query stays the same when it is
    restarted from its checkpoint. Spark passes the id only to tasks, which send it to the driver.
    """

    def __init__(self, target: Target) -> None:
        self.target = target

    def __getstate__(self) -> dict[str, Any]:
        """Return what Spark sends to tasks, without credentials."""
        return {**vars(self), "target": self.target.for_workers}

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """Store a task's rows as `Writer.write` does."""
        return upload(self.target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit the files of a batch; nothing for an empty batch that is appended."""
        uploaded = told(messages)
        query = self.target.query or next((each.query for each in uploaded if each.query), "")
        if not query:
            raise InvalidInput(
                "option 'query': is required, because Spark does not report the id of the query", option="query"
            )
        batch = StreamBatch(query, batchId)
        publish(self.target, Job(uploaded, batch.key, batch))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Delete the files of the tasks as `Writer.abort` does."""
        if any(message is None for message in messages):
            discard(self.target, told(messages))


def told(messages: list[WriterCommitMessage | None]) -> list[Uploaded]:
    """Return the messages of the tasks."""
    return [message for message in messages if isinstance(message, Uploaded)]
