"""Register that one process holds at a time. After a fixed time another process may take it over, so nobody waits
longer for a crashed holder.
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
class TimedRegister(Generic[R]):
    """A register and the time for which a process may hold it."""

    kv: Store
    where: Location[R]
    clock: Clock
    hold_time: timedelta
    before_takeover: Callable[[R], object] = lambda former: None
    """Called with the record of a holder whose time is over, before the register is taken over."""

    def take(self, holder: R) -> Held[R]:
        """Wait until the register is free, and take it.

        Args:
            holder: Record of this process, with a fresh nonce. Its time is set to the time of each attempt.
        """
        while True:
            with suppress(PredicateFailed, OutcomeUnknown):
                taken = self._try(holder)
                if taken is not None:
                    return taken
            self.clock.sleep(_PAUSE)

    def release(self, held: Held[R]) -> None:
        """Let others take the register. If that fails, they take it over when the time is over."""
        with suppress(GravelerError):
            access.remove(self.kv, self.where, held)

    def _try(self, holder: R) -> Held[R] | None:
        now = self.clock.now()
        standing = access.read(self.kv, self.where)
        if standing is not None and standing.value.nonce == holder.nonce:
            return standing  # the response to an earlier request was lost
        taken = holder.model_copy(update={"since": now})
        if standing is None:
            return access.create(self.kv, self.where, taken, once=True)
        if now - standing.value.since >= self.hold_time:
            self.before_takeover(standing.value)
            return access.replace(self.kv, self.where, standing, taken)
        return None
