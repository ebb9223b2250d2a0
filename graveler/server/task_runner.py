"""Execution of tasks in the background, so that a request that begins one is answered at once.

The record of a task is in the store, and any process may run the task. A task that waits or runs here when the process
stops is run by the next server that its user asks for its state. The threads are therefore daemon threads, which the
end of the process stops at any point.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import BoundedSemaphore, Lock, Thread
from typing import Final

from graveler_core.errors import GravelerError, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import ImportTask, Task

MAX_TASKS: Final = 4
"""Number of tasks that one process runs at once. More of them wait."""
LAST_IMPORT: Final = ".lakefs.last.import.timestamp"
"""Key of the metadata of a repository with the time of the last import, in seconds since 1970."""
_log = logging.getLogger("graveler.server")


class TaskRunner:
    """Threads for tasks. Thread-safe."""

    def __init__(self) -> None:
        self._places = BoundedSemaphore(MAX_TASKS)
        self._lock = Lock()
        self._here: set[tuple[str, str]] = set()
        """Repositories and ids of the tasks that run or wait here."""

    def start(self, repository: Repository, id: str) -> None:
        """Run a task soon, unless it runs or waits here already.

        Args:
            repository: Handle of the user who began the task.
            id: Id of the task.
        """
        name = (str(repository.uid), id)
        with self._lock:
            if name in self._here:
                return
            self._here.add(name)
        Thread(target=self._run, args=(repository, id, name), name=f"graveler-run-{id}", daemon=True).start()

    @property
    def idle(self) -> bool:
        """True if no task runs or waits here."""
        with self._lock:
            return not self._here

    def _run(self, repository: Repository, id: str, name: tuple[str, str]) -> None:
        try:
            with self._places:
                _tell(repository, repository.run_task(id))
        except GravelerError as error:
            _log.warning("task %s of repository %s: %s", id, repository.id, error.message)
        finally:
            with self._lock:
                self._here.discard(name)


def _tell(repository: Repository, task: Task) -> None:
    """Note the time of an import in the metadata of the repository, as lakeFS does, if the user may change them."""
    if isinstance(task.work, ImportTask) and task.commit_id is not None:
        with suppress(PermissionDenied):
            moment = repository.commit(task.commit_id).creation_date
            repository.update_metadata({LAST_IMPORT: str(int(moment.timestamp()))})
