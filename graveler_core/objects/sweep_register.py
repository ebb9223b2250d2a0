"""Register that keeps a sweep, which deletes files by age, and a build, which renews old files, from running at once.

The register is held for a moment only: by a sweep while it checks the ages of some files and deletes the old ones, and
by a build while it renews one file. A holder stops after half of `HOLD_TIME`. After `HOLD_TIME`, another process may
take the register, so nobody waits longer for a crashed holder. Processes that create files, or that find young ones, do
not use the register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import RepositoryRecord, Sweeping
from graveler_core.model.ids import Nonce
from graveler_core.records import layout as keys
from graveler_core.records.timed_register import TimedRegister

HOLD_TIME = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class SweepRegister:
    """Register of one repository."""

    kv: Store
    repository: RepositoryRecord
    clock: Clock
    ids: IdSource

    @contextmanager
    def held(self) -> Iterator[Callable[[], bool]]:
        """Hold the register inside the `with` statement.

        Yields:
            A function that returns true as long as the holder may continue.
        """
        register = TimedRegister(self.kv, keys.sweeping(self.repository), self.clock, HOLD_TIME)
        held = register.take(Sweeping(nonce=Nonce(self.ids.fresh()), since=self.clock.now()))
        try:
            yield lambda: self.clock.now() - held.value.since < HOLD_TIME / 2
        finally:
            register.release(held)
