"""Threads for operations that change commits, branches and tags. They leave the worker threads to reads.

Such an operation may call webhooks before its change, and a receiver that hangs keeps its thread until the time limits
of the hook are over. Other operations on the branch then wait for their turn (`stores.turns`), in their threads. Both
count, so the operations of one repository are limited, and not the calls of hooks. The last threads are kept for
repositories of which no change runs, so a few repositories whose receivers hang do not take all threads. Changes that
find no thread wait in the event loop, and too many of them are refused.
"""

from __future__ import annotations

from asyncio import CancelledError, Future, get_running_loop
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from graveler.server.worker_threads import run_in
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.counting import counted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Limits on the changes of one process."""

    at_once: int = 32
    """Number of changes that run at once."""
    kept_free: int = 8
    """Number of threads, of these, that are kept for repositories of which no change runs."""
    of_one: int = 8
    """Number of changes of one repository that run at once."""
    most_of_one: int = 100
    """Number of changes of one repository that run or wait. Further ones are refused."""
    most_waiting: int = 400
    """Number of changes that wait. Further ones are refused if they cannot run at once."""


CHANGE_LIMITS: Final = ChangeLimits()


class ChangeThreads:
    """Threads for changes of one process. Use them in one event loop."""

    def __init__(self, limits: ChangeLimits = CHANGE_LIMITS) -> None:
        """Create the threads."""
        self._threads = ThreadPoolExecutor(limits.at_once, thread_name_prefix="graveler-change")
        self._limits = limits
        self._running = Counter[str]()
        """Number of changes that run, by repository."""
        self._waiting: list[tuple[str, Future[None]]] = []
        """Changes that wait, in the order of their arrival: the repository, and the result that ends the wait."""

    async def run(self, repository: str, change: Callable[[], T]) -> T:
        """Call a function in one of the threads.

        Args:
            repository: Name of the repository that the function changes.
            change: The function.

        Raises:
            Unavailable: (`StoreBusy`) Too many changes wait.
        """
        await self._take(repository)
        try:
            return await run_in(self._threads, change)
        finally:
            self._give_back(repository)

    async def _take(self, repository: str) -> None:
        """Wait until a change of a repository may run, and count it."""
        if self._may_run(repository):  # then no other change of the repository waits
            self._running[repository] += 1
            return
        self._require_room(repository)
        turn = get_running_loop().create_future()
        self._waiting.append((repository, turn))
        try:
            await turn
        except CancelledError:
            if turn.cancelled():
                self._waiting.remove((repository, turn))
            else:
                self._give_back(repository)
            raise

    def _may_run(self, repository: str) -> bool:
        """Return true if a further change of a repository may run now."""
        running, free = self._running[repository], self._limits.at_once - self._running.total()
        return free > self._limits.kept_free and running < self._limits.of_one if running else free > 0

    def _require_room(self, repository: str) -> None:
        limits, waiting = self._limits, len(self._waiting)
        own = self._running[repository] + sum(each == repository for each, _ in self._waiting)
        if own >= limits.most_of_one or waiting >= limits.most_waiting:
            raise Unavailable(
                f"the server makes {counted(own, 'change')} of repository {repository!r} already, and {waiting:,} of "
                "all repositories wait; try again",
                kind=Kind.StoreBusy,
            )

    def _give_back(self, repository: str) -> None:
        """Count a change that has ended, and let those run that may now."""
        self._running[repository] -= 1
        if not self._running[repository]:
            del self._running[repository]
        waiting, self._waiting = self._waiting, []
        for name, turn in waiting:
            if not turn.done() and self._may_run(name):
                self._running[name] += 1
                turn.set_result(None)
            else:  # a cancelled one removes itself
                self._waiting.append((name, turn))
