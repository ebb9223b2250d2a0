"""Threads for operations that change commits, branches and tags. They leave the worker threads to reads.

Such an operation may call webhooks before its change, and a receiver that hangs keeps its thread until the time limits
of the hook are over. Other operations on the branch then wait for their turn (`stores.turns`), in their threads. Both
count, so the operations of one repository are limited, and not the calls of hooks. Those beyond the limit wait in the
event loop, without a thread.
"""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from graveler.server.worker_threads import run_in
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.counting import counted

T = TypeVar("T")
CHANGES_AT_ONCE: Final = 32
"""Number of changes that run at once."""
CHANGES_OF_ONE: Final = 8
"""Number of changes of one repository that run at once."""
MAX_CHANGES: Final = 100
"""Number of changes of one repository that run or wait. Further ones are refused."""


@dataclass(slots=True)
class _Changes:
    """Changes of one repository."""

    places: Semaphore
    number: int = 0
    """Number of changes that run or wait."""


class ChangeThreads:
    """Threads for changes of one process. Use them in one event loop."""

    def __init__(self, at_once: int = CHANGES_AT_ONCE, of_one: int = CHANGES_OF_ONE, most: int = MAX_CHANGES) -> None:
        """Create the threads.

        Args:
            at_once: Number of changes that run at once.
            of_one: Number of changes of one repository that run at once.
            most: Number of changes of one repository that run or wait.
        """
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="graveler-change")
        self._of_one = of_one
        self._most = most
        self._repositories: dict[str, _Changes] = {}
        """Repositories with changes that run or wait."""

    async def run(self, repository: str, change: Callable[[], T]) -> T:
        """Call a function in one of the threads.

        Args:
            repository: Name of the repository that the function changes.
            change: The function.

        Raises:
            Unavailable: (`StoreBusy`) Too many changes of the repository run or wait.
        """
        changes = self._repositories.setdefault(repository, _Changes(Semaphore(self._of_one)))
        if changes.number >= self._most:
            raise Unavailable(
                f"the server makes {counted(changes.number, 'change')} of repository {repository!r} already; try again",
                kind=Kind.StoreBusy,
            )
        changes.number += 1
        try:
            async with changes.places:
                return await run_in(self._threads, change)
        finally:
            changes.number -= 1
            if not changes.number:
                del self._repositories[repository]
