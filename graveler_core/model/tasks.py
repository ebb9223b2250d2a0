"""Tasks: long operations that run in the background, with a record that every process of the store can read."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pydantic import Field

from graveler_core.errors import InvalidInput
from graveler_core.model.clock import has_lapsed
from graveler_core.model.entities import Record
from graveler_core.model.ids import BranchId, CommitId, Nonce

LEASE: Final = timedelta(minutes=1)
"""Time without a renewal after which a task counts as abandoned, and another process may go on with it."""
KEPT: Final = timedelta(days=30)
"""Time for which the record of a task that has ended is kept."""


class TaskState(StrEnum):
    """State of a task. `running` includes tasks that wait for a process."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ImportTask(Record):
    """Work of a task that imports everything below a directory, or single objects."""

    into: BranchId
    destination: str = ""
    uri: str = ""
    """Directory to import, or ""."""
    objects: dict[str, str] = Field(default_factory=dict)
    """URIs by path, if `uri` is empty. URIs of directories end in a slash."""
    message: str = ""
    metadata: dict[str, str] = Field(default_factory=dict)


class DumpTask(Record):
    """Work of a task that writes the metadata of the repository to a file."""

    dump_below: str
    """URI of the directory of the file, whose name is the id of the task."""


class RestoreTask(Record):
    """Work of a task that restores a dump into the repository."""

    restore: str
    """URI of the dump."""


class Task(Record):
    """A task of one repository. Every change is a swap with a fresh nonce."""

    id: str
    user: str = ""
    """User who began it, and in whose name it runs. Empty without access control."""
    work: ImportTask | DumpTask | RestoreTask
    state: TaskState = TaskState.RUNNING
    begun: datetime
    renewed: datetime | None = None
    """Time of the last sign of the process that runs it. `None` if none has begun."""
    objects: int = Field(default=0, ge=0)
    """Number of objects that were listed."""
    commit_id: CommitId | None = None
    """Commit of an import that is done."""
    epoch: int | None = Field(default=None, exclude_if=lambda epoch: epoch is None)
    """Epoch of the branch of an import when the task was begun."""
    error: str = ""
    nonce: Nonce

    def is_free(self, now: datetime) -> bool:
        """Return true if no process runs the task, and it has not ended."""
        if self.state is not TaskState.RUNNING:
            return False
        return self.renewed is None or has_lapsed(self.renewed, LEASE, now)


def dump_uri(work: DumpTask, id: str) -> str:
    """Return the URI of the file that a task writes.

    Args:
        work: Work of the task.
        id: Id of the task.
    """
    return f"{work.dump_below}/{id}"


def import_task(work: ImportTask) -> ImportTask:
    """Check that an import names either a directory or objects.

    Raises:
        InvalidInput: It names both or none.
    """
    if bool(work.uri) == bool(work.objects):
        raise InvalidInput("import: must name either one directory, or single objects")
    return work
