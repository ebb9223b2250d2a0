"""Execution of tasks in the background, so that a request that begins one is answered at once.

The record of a task is in the store, and any process may run the task. A task that waits or runs here when the process
stops is run by the next server that its user asks for its state. The threads are therefore daemon threads, which the
end of the process stops at any point.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Final

from graveler_core.errors import GravelerError, PermissionDenied, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import ImportTask, Task

MAX_TASKS: Final = 4
"""Number of tasks that one process runs at once. More of them wait."""
LAST_IMPORT: Final = ".lakefs.last.import.timestamp"
"""Key of the metadata of a repository with the time of the last import, in seconds since 1970."""
_log = logging.getLogger("graveler.server")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A task that waits for a thread."""

    repository: Repository
    """Handle of the user who began the task."""
    id: str

    @property
    def name(self) -> tuple[str, str]:
        return str(self.repository.uid), self.id


class TaskRunner:
    """Threads for tasks. A thread ends when no task waits. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._here: set[tuple[str, str]] = set()
        """Repositories and ids of the tasks that run or wait here."""
        self._waiting: deque[_Waiting] = deque()
        self._threads = 0

    def start(self, repository: Repository, id: str) -> None:
        """Run a task soon, unless it runs or waits here already.

        Args:
            repository: Handle of the user who began the task.
            id: Id of the task.

        Raises:
            Unavailable: The machine starts no more threads. The task is not run.
        """
        task = _Waiting(repository, id)
        with self._lock:
            if task.name in self._here:
                return
            self._here.add(task.name)
            self._waiting.append(task)
            if self._threads == MAX_TASKS:
                return
            self._threads += 1
        try:
            Thread(target=self._work, name="graveler-tasks", daemon=True).start()
        except RuntimeError as e:
            with self._lock:
                self._threads -= 1
                if not self._threads and task in self._waiting:  # no other thread will take it
                    self._waiting.remove(task)
                    self._here.discard(task.name)
                    raise Unavailable(f"task {id!r}: cannot be run, because no thread can be started ({e})") from e

    @property
    def idle(self) -> bool:
        """True if no task runs or waits here."""
        with self._lock:
            return not self._here

    def _work(self) -> None:
        """Run waiting tasks until there are none."""
        while (task := self._next()) is not None:
            try:
                self._run(task)
            except Exception:  # the thread has other tasks to run
                _log.exception("task %s of repository %s", task.id, task.repository.id)

    def _next(self) -> _Waiting | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            return None

    def _run(self, task: _Waiting) -> None:
        try:
            _tell(task.repository, task.repository.run_task(task.id))
        except GravelerError as error:
            _log.warning("task %s of repository %s: %s", task.id, task.repository.id, error.message)
        finally:
            with self._lock:
                self._here.discard(task.name)


def _tell(repository: Repository, task: Task) -> None:
    """Note the time of an import in the metadata of the repository, as lakeFS does, if the user may change them."""
    if isinstance(task.work, ImportTask) and task.commit_id is not None:
        with suppress(PermissionDenied):
            moment = repository.commit(task.commit_id).creation_date
            repository.update_metadata({LAST_IMPORT: str(int(moment.timestamp()))})
