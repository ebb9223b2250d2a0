"""Register that keeps a sweep, which deletes files by age, and a build, which renews old files, from running at once.

The register is held for a moment only: by a sweep while it checks the ages of some files and deletes the old ones, and
by a build while it renews one file. Processes that create files, or that find young ones, do not use the register.

A holder begins nothing after `WORK_TIME`. After `HOLD_TIME`, another process may take the register over, so nobody
waits longer for a crashed holder. In the time between, the requests of the former holder end. Let a sweep S check the
age of a file and delete it, and let a build B renew the file and rely on it. These orders are possible:

- S releases the register, B takes it. The deletion is complete, so B finds that the file is missing.
- B renews the file and releases the register, S takes it. S finds a young file.
- S is slow or has died, B takes the register over. B has seen the record of S for `HOLD_TIME`. S has sent its last
  deletion before `WORK_TIME`, so it is complete, and B finds that the file is missing or renews it.
- A deletion of S fails. Its request may still arrive. S does not release the register, so B takes it over as above.
- B is slow, S takes the register over and finds an old file. B notices that its time is over, and renews the file again
  under the register.
- The clocks of the machines differ. Each process measures `HOLD_TIME` by its own monotonic clock (`TimedRegister`).
- The machine of S was asleep. Its monotonic clock may have stood still, so S also measures `WORK_TIME` by the other
  clock.

This requires that a deletion, with all its repetitions, ends within the difference of the two times, counted from the
moment at which S has asked if it may continue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import RepositoryRecord, Sweeping
from graveler_core.model.ids import Nonce
from graveler_core.records import layout as keys
from graveler_core.records.timed_register import Hold, TimedRegister

HOLD_TIME = timedelta(minutes=3)
"""Time after which another process takes the register over."""
WORK_TIME = timedelta(seconds=30)
"""Time after which a holder begins nothing more."""


@dataclass(slots=True)
class SweepHold:
    """Register that this process holds."""

    clock: Clock
    hold: Hold[Sweeping]
    deleting: bool = False
    """Set by the holder before it sends its first deletion. If it fails afterwards, the register is not released,
    because a deletion may still arrive.
    """

    def is_in_time(self) -> bool:
        """Return true as long as the holder may begin something."""
        by_monotonic = timedelta(seconds=self.clock.monotonic() - self.hold.began)
        return max(by_monotonic, self.clock.now() - self.hold.record.value.since) < WORK_TIME


@dataclass(frozen=True, slots=True)
class SweepRegister:
    """Register of one repository."""

    kv: Store
    repository: RepositoryRecord
    clock: Clock
    ids: IdSource

    @contextmanager
    def held(self) -> Iterator[SweepHold]:
        """Hold the register inside the `with` statement."""
        register = TimedRegister(self.kv, keys.sweeping(self.repository), self.clock, HOLD_TIME)
        hold = register.take(Sweeping(nonce=Nonce(self.ids.fresh()), since=self.clock.now()))
        held = SweepHold(self.clock, hold)
        try:
            yield held
        except BaseException:
            if not held.deleting:
                register.release(hold)
            raise
        register.release(hold)
