"""Register that one process holds at a time. After a fixed time another process may take it over, so nobody waits
longer for a crashed holder.

A process that waits takes the register over when it has seen the same record for that time, by its own monotonic clock.
The record was written before the process saw it first. The former holder has therefore held the register for at least
that time, however much the clocks of the two machines differ.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from graveler_core.errors import GravelerError, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.entities import RegisterHolder
from graveler_core.records import access
from graveler_core.records.access import Held
from graveler_core.records.location import Location

R = TypeVar("R", bound=RegisterHolder)
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Hold(Generic[R]):
    """Register that this process has taken."""

    record: Held[R]
    began: float
    """Monotonic time at which this process did not hold the register yet."""


@dataclass(frozen=True, slots=True)
class TimedRegister(Generic[R]):
    """A register and the time after which another process may take it over."""

    kv: Store
    where: Location[R]
    clock: Clock
    hold_time: timedelta
    before_takeover: Callable[[R], object] = lambda former: None
    """Called with the record of a holder whose time is over, before the register is taken over."""

    def take(self, holder: R) -> Hold[R]:
        """Wait until the register is free, and take it.

        Args:
            holder: Record of this process, with a fresh nonce. Its time is set to the time of each attempt.
        """
        began = first_seen = self.clock.monotonic()
        seen: Held[R] | None = None
        while True:
            start = self.clock.monotonic()
            standing = access.read(self.kv, self.where)
            if standing is not None and standing.value.nonce == holder.nonce:
                return Hold(standing, began)  # the response to an earlier request was lost
            began = start
            if standing != seen:
                seen, first_seen = standing, self.clock.monotonic()
            if standing is None or self.clock.monotonic() - first_seen >= self.hold_time.total_seconds():
                with suppress(PredicateFailed, OutcomeUnknown):
                    return Hold(self._write(standing, holder), began)
            self.clock.sleep(_PAUSE)

    def release(self, hold: Hold[R]) -> None:
        """Let others take the register. If that fails, they take it over when the time is over."""
        with suppress(GravelerError):
            access.remove(self.kv, self.where, hold.record)

    def _write(self, standing: Held[R] | None, holder: R) -> Held[R]:
        """Take the register, if it is free or has the record that was read."""
        taken = holder.model_copy(update={"since": self.clock.now()})
        if standing is None:
            return access.create(self.kv, self.where, taken, once=True)
        self.before_takeover(standing.value)
        return access.replace(self.kv, self.where, standing, taken)
