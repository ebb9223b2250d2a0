"""The crowd: starts the processes, kills some, and replaces those that it killed.

They are forked from a server process that has imported what they need, so that a new life takes milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep

from tests.proofs.processes.actor import Orders, act

PATIENCE = 300
"""Seconds without progress after which a run is given up."""

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "tests.proofs.processes.actor",
        "tests.proofs.processes.collection_actor",
        "tests.proofs.processes.lifecycle_actor",
        "tests.proofs.processes.network_actor",
        "graveler_core.blobs.open",
        "graveler_core.facade.graveler",
        "graveler_core.kv.backends.postgresql.store",
        "graveler_core.kv.backends.sqlite.store",
        "pandas",  # Arrow imports it, where it is installed, at the first array it takes over
        "pyarrow.pandas_compat",
    ]
)


@dataclass(frozen=True)
class Cast:
    """Who works, at what, and how much between two kills."""

    names: tuple[str, ...]
    act: Callable[[Orders], None]
    enough: int
    """Bytes of journals."""
    in_calls: bool = False
    """Whether they are killed only within their calls, for these are short."""


WRITERS = Cast((*(f"w{n}" for n in range(8)), *(f"c{n}" for n in range(4)), "r0", "r1"), act, enough=20_000)
"""Eight writers, four committers, two readers; some hundred operations."""


@dataclass
class Crew:
    """A cast at work."""

    cast: Cast
    url: str
    directory: Path
    chance: random.Random
    storage_options: Mapping[str, str] | None = None
    alive: dict[str, BaseProcess] = field(default_factory=dict)
    _newest: str = ""

    def start(self, name: str) -> None:
        """A new life of an actor."""
        orders = Orders(name, self.url, self.directory, self.storage_options)
        process = _CONTEXT.Process(target=self.cast.act, args=(orders,), name=name)
        process.start()
        self.alive[name] = process
        self._newest = name

    def kill_one(self) -> None:
        """Kills a process that is at work, at any point of it, and starts its next life."""
        name = self.chance.choice(self.cast.names)
        if self.cast.in_calls:
            self._await_call(name)
        victim = self.alive.pop(name)
        assert victim.is_alive(), f"{name} ended by itself with {victim.exitcode}"
        victim.kill()
        victim.join()
        self.start(name)

    def work(self) -> None:
        """Waits until much more has been done, some of it by the newest life, and then for a moment of chance."""
        before, newest = self._written("*"), self._written(self._newest)
        deadline = monotonic() + PATIENCE
        while self._written("*") < before + self.cast.enough or self._written(self._newest) == newest:
            assert monotonic() < deadline, "no progress"
            sleep(0.01)
        sleep(self.chance.uniform(0, 0.1))

    def stop(self) -> None:
        """Lets everyone finish what they are at."""
        (self.directory / "stop").touch()
        for name, process in self.alive.items():
            process.join(PATIENCE)
            assert process.exitcode == 0, f"{name} ended with {process.exitcode}"

    def _await_call(self, name: str) -> None:
        """Waits until the last thing that an actor wrote down is what it began, and a little more."""
        deadline = monotonic() + PATIENCE
        while b'"began"' not in self._last_record(name):
            assert monotonic() < deadline, f"{name} begins nothing"
            sleep(0.001)
        sleep(self.chance.uniform(0, 0.02))

    def _last_record(self, name: str) -> bytes:
        """The last thing that an actor wrote down; nothing if it has not begun to write."""
        newest = max(self.directory.glob(f"{name}.*.jsonl"), default=None)
        return b"" if newest is None else newest.read_bytes().rpartition(b"\n{")[2]

    def _written(self, names: str) -> int:
        return sum(path.stat().st_size for path in self.directory.glob(f"{names}.*.jsonl"))


@contextmanager
def crew(
    url: str,
    directory: Path,
    seed: int,
    cast: Cast = WRITERS,
    storage_options: Mapping[str, str] | None = None,
) -> Iterator[Crew]:
    """A crew at work; none of it is left behind."""
    directory.mkdir()
    crowd = Crew(cast, url, directory, random.Random(seed), storage_options)
    try:
        for name in cast.names:
            crowd.start(name)
        yield crowd
    finally:
        for process in crowd.alive.values():
            process.kill()
            process.join()


def disturb(crowd: Crew, kills: int, at: dict[int, Callable[[], None]]) -> None:
    """Kills so many processes one by one while all work, and does before the kill of a number what is given for it."""
    for number in range(kills):
        crowd.work()
        at.get(number, lambda: None)()
        crowd.kill_one()
    crowd.work()
    crowd.stop()
