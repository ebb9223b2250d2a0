"""Changes run as far as the limits allow, in the order of their arrival, and no place is lost."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Semaphore

import pytest

from graveler.server.change_threads import ChangeLimits, ChangeThreads
from graveler_core.errors import Kind, Unavailable

SECONDS = 60


class Changes:
    """Changes that run until they are told to end. The first letter of the name of each is its repository."""

    def __init__(self) -> None:
        self.threads = ChangeThreads(ChangeLimits(at_once=6, kept_free=2, of_one=3, most_of_one=5, most_waiting=4))
        self._began: asyncio.Queue[str] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._ends: dict[str, Semaphore] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, *names: str) -> None:
        for name in names:
            self._ends[name] = Semaphore(0)
            self.tasks[name] = asyncio.create_task(self.threads.run(name[0], partial(self._work, name)))
        await asyncio.sleep(0)

    def _work(self, name: str) -> None:
        self._loop.call_soon_threadsafe(self._began.put_nowait, name)
        assert self._ends[name].acquire(timeout=SECONDS)

    async def began(self, number: int) -> set[str]:
        """The names of the next changes that begin."""
        return {await asyncio.wait_for(self._began.get(), SECONDS) for _ in range(number)}

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].release()
            await self.tasks[name]

    async def all_end(self) -> None:
        """End all changes. Then nothing is counted any more."""
        for end in self._ends.values():
            end.release()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        assert (self.threads._waiting, self.threads._running) == ([], {})


async def refused(changes: Changes, name: str) -> None:
    await changes.begin(name)
    with pytest.raises(Unavailable) as error:
        await changes.tasks[name]
    assert error.value.kind is Kind.StoreBusy


def test_repositories_whose_changes_hang_leave_threads_to_others() -> None:
    async def scene() -> None:
        changes = Changes()
        await changes.begin("a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1")
        assert await changes.began(6) == {"a1", "a2", "a3", "b1", "c1", "d1"}
        await changes.begin("e1")
        await changes.end("b1")
        assert await changes.began(1) == {"b2"}  # it has waited for longer than e1
        await changes.end("a1")
        assert await changes.began(1) == {"e1"}  # a4 takes none of the last threads
        await changes.end("c1", "d1", "e1")
        assert await changes.began(1) == {"a4"}
        await changes.all_end()

    asyncio.run(scene())


def test_too_many_changes_that_wait_are_refused() -> None:
    async def scene() -> None:
        changes = Changes()
        await changes.begin("a1", "a2", "a3", "a4", "a5")
        await refused(changes, "a6")
        await changes.begin("b1", "b2", "b3")
        await refused(changes, "b4")
        await changes.begin("c1", "d1")
        assert await changes.began(6) == {"a1", "a2", "a3", "b1", "c1", "d1"}
        await changes.all_end()

    asyncio.run(scene())


def test_a_change_that_is_cancelled_leaves_its_place() -> None:
    """One is cancelled while it waits, and one after its turn has come."""

    async def scene() -> None:
        changes = Changes()
        await changes.begin("a1", "a2", "a3", "a4", "a5", "b1")
        assert await changes.began(4) == {"a1", "a2", "a3", "b1"}
        changes.tasks["a4"].cancel()
        changes.threads._give_back("a")  # as at the end of a change, before the cancelled one has noticed
        changes.tasks["a5"].cancel()
        await asyncio.wait([changes.tasks["a4"], changes.tasks["a5"]])
        assert (changes.threads._waiting, changes.threads._running) == ([], {"a": 2, "b": 1})
        changes.threads._running["a"] += 1
        await changes.all_end()

    asyncio.run(scene())
