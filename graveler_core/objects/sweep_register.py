"""Register that keeps a sweep, which deletes files by age, and a build, which renews old files, from running at once.

The register is held for a moment only: by a sweep while it checks the ages of some files and deletes the old ones, and
by a build while it renews one file. A holder stops after half of `HOLD_TIME`. After `HOLD_TIME`, another process may
take the register, so nobody waits longer for a crashed holder. Processes that create files, or that find young ones, do
not use the register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from graveler_core.errors import GravelerError, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import Repository, Sweeping
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

HOLD_TIME = timedelta(minutes=1)
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class SweepRegister:
    """Register of one repository."""

    kv: Store
    repository: Repository
    clock: Clock
    ids: IdSource

    @contextmanager
    def held(self) -> Iterator[Callable[[], bool]]:
        """Hold the register inside the `with` statement.

        Yields:
            A function that returns true as long as the holder may continue.
        """
        held = self._take(Nonce(self.ids.fresh()))
        try:
            yield lambda: self.clock.now() - held.value.since < HOLD_TIME / 2
        finally:
            with suppress(GravelerError):  # otherwise it is taken over when its time is over
                access.remove(self.kv, keys.sweeping(self.repository), held)

    def _take(self, nonce: Nonce) -> Held[Sweeping]:
        while True:
            with suppress(PredicateFailed, OutcomeUnknown):
                taken = self._try(nonce)
                if taken is not None:
                    return taken
            self.clock.sleep(_PAUSE)

    def _try(self, nonce: Nonce) -> Held[Sweeping] | None:
        where, now = keys.sweeping(self.repository), self.clock.now()
        standing = access.read(self.kv, where)
        if standing is not None and standing.value.nonce == nonce:
            return standing  # the response to an earlier request was lost
        if standing is None:
            return access.create(self.kv, where, Sweeping(nonce=nonce, since=now), once=True)
        if now - standing.value.since >= HOLD_TIME:
            return access.replace(self.kv, where, standing, Sweeping(nonce=nonce, since=now))
        return None
