"""A clock that a test puts forward for all processes of a run, and only while none of them is within a call.

So no call lasts longer than the grace for late writes, however slow the machine is, and when two minutes have passed
only what was killed is half-done. A killed process holds no lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from fcntl import LOCK_EX, LOCK_SH, flock
from pathlib import Path

from graveler_core.model.clock import SystemClock


@dataclass(frozen=True)
class FastClock(SystemClock):
    """The clock that is kept in a directory: the machine's, and as many minutes as a file there has bytes."""

    directory: Path

    def now(self) -> datetime:
        return super().now() + timedelta(minutes=self._minutes.stat().st_size)

    def at(self, then: datetime) -> datetime:
        """What it showed when the clock of the machine showed something. That clock may have seconds only."""
        before = [int(minutes) for at, minutes in self._moves() if float(at) <= then.timestamp()]
        return then + timedelta(minutes=sum(before))

    def wall(self) -> float:
        """Seconds since 1970."""
        return self.now().timestamp()

    def put_forward(self, minutes: int) -> None:
        """Puts it forward as soon as nobody is within a call; whoever begins one waits."""
        with self._locked("gate", LOCK_EX), self._locked("door", LOCK_EX):
            moved = time.time()
            with self._minutes.open("ab") as file:
                file.write(bytes(minutes))
            with self._log.open("a") as log:
                log.write(f"{moved} {minutes}\n")
            while time.time() < int(moved) + 1:  # what is written from now on is later, also in whole seconds
                time.sleep(0.01)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Within it the clock is not put forward."""
        with ExitStack() as held:
            with self._locked("gate", LOCK_EX):
                held.enter_context(self._locked("door", LOCK_SH))
            yield

    @property
    def _minutes(self) -> Path:
        return self.directory / "minutes"

    @property
    def _log(self) -> Path:
        return self.directory / "moves"

    def _moves(self) -> list[list[str]]:
        return [line.split() for line in self._log.read_text().splitlines()] if self._log.exists() else []

    @contextmanager
    def _locked(self, name: str, kind: int) -> Iterator[None]:
        file = os.open(self.directory / name, os.O_CREAT | os.O_RDWR)
        try:
            flock(file, kind)
            yield
        finally:
            os.close(file)


def fast_clock(directory: Path) -> FastClock:
    """The clock of a run, which begins with it."""
    directory.mkdir(exist_ok=True)
    (directory / "minutes").touch()
    return FastClock(directory)
