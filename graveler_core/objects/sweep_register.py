"""The register that excludes from each other: a sweep that deletes blobs by age, and whoever makes an old blob young.

Held for a moment: by a sweep while it looks at the ages of some blobs and deletes the old ones, by a build while it
renews one. Who holds it for longer than half of `HOLD_TIME` stops; after all of it the next one takes it, so a crash is
waited for no longer than that. Nobody else ever waits for it: not who creates a blob, nor who finds a young one.
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
    """The register of one repository."""

    kv: Store
    repository: Repository
    clock: Clock
    ids: IdSource

    @contextmanager
    def held(self) -> Iterator[Callable[[], bool]]:
        """Hold it inside the `with` statement; gives a function that says whether to go on."""
        held = self._take(Nonce(self.ids.fresh()))
        try:
            yield lambda: self.clock.now() - held.value.since < HOLD_TIME / 2
        finally:
            with suppress(GravelerError):  # then it is taken when its time is over
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
            return standing  # an answer was lost
        if standing is None:
            return access.create(self.kv, where, Sweeping(nonce=nonce, since=now), once=True)
        if now - standing.value.since >= HOLD_TIME:
            return access.replace(self.kv, where, standing, Sweeping(nonce=nonce, since=now))
        return None
