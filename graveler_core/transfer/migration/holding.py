"""Ownership of a repository that is being migrated. Only the run that wrote the repository record last may change it.

Each run that continues a migration swaps the record for one with its own nonce. A superseded run notices this before
its next batch. It cannot make the repository visible, because that swap expects its own record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from graveler_core.errors import Conflict, Kind, PredicateFailed
from graveler_core.model.clock import has_lapsed
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

EVERY = timedelta(minutes=5)
"""Interval at which a run renews its record, much shorter than the maximum time between renewals."""


@dataclass(slots=True)
class Holding:
    """Repository in the state `initial` that this run migrates into."""

    stores: Stores
    held: Held[RepositoryRecord]

    @property
    def repository(self) -> RepositoryRecord:
        """Its record."""
        return self.held.value

    def require(self) -> None:
        """Check that this run still owns the record, and renew it from time to time.

        Raises:
            Conflict: Another run continues the migration, or the repository was deleted (`LostRace`).
        """
        where = keys.repository(self.repository.id)
        if access.read(self.stores.kv, where) != self.held:
            self._lost()
        if has_lapsed(self.repository.since, EVERY, self.stores.clock.now()):  # or this machine's clock was set back
            nonce = Nonce(self.stores.ids.fresh())
            self._swap(self.repository.model_copy(update={"nonce": nonce, "since": self.stores.clock.now()}))

    def end(self, state: RepositoryState = RepositoryState.ACTIVE) -> RepositoryRecord:
        """End the migration and make the repository visible, as active or incomplete. Raises the same errors as
        `require`.
        """
        ended = repositories.enter(self.repository, state, self.stores.clock, self.stores.ids)
        self._swap(ended.model_copy(update={"migrating": ""}))
        self.stores.registers.forget_all(self.repository.id)
        return self.repository

    def _swap(self, record: RepositoryRecord) -> None:
        try:
            self.held = access.replace(self.stores.kv, keys.repository(record.id), self.held, record)
        except PredicateFailed:
            self._lost()

    def _lost(self) -> NoReturn:
        raise Conflict(
            f"repository {self.repository.id!r}: another run has taken over its migration, or it was deleted",
            kind=Kind.LostRace,
            repository=self.repository.id,
        )
