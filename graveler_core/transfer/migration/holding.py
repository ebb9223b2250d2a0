"""Holding a repository that is being migrated: its record, which only the run that wrote it last may change.

Each run that goes on with a repository swaps its record for one with a nonce of its own. So a run that others took for
dead finds out before its next batch, and cannot make the repository visible: that swap expects its own record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from graveler_core.errors import Conflict, Kind, PredicateFailed
from graveler_core.model.entities import Repository, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

EVERY = timedelta(minutes=5)
"""How often a run says that it lives: many times within what a migration is given."""


@dataclass(slots=True)
class Holding:
    """A repository in `initial` that this run migrates into."""

    stores: Stores
    held: Held[Repository]

    @property
    def repository(self) -> Repository:
        """Its record."""
        return self.held.value

    def require(self) -> None:
        """Look whether the record is this run's still, and renew it now and then.

        Raises:
            Conflict: (`LostRace`) another run goes on with it, or it was deleted.
        """
        where = keys.repository(self.repository.id)
        if access.read(self.stores.kv, where) != self.held:
            self._lost()
        if self.stores.clock.now() - self.repository.since >= EVERY:
            nonce = Nonce(self.stores.ids.fresh())
            self._swap(self.repository.model_copy(update={"nonce": nonce, "since": self.stores.clock.now()}))

    def activate(self) -> Repository:
        """Make the repository visible, whole. Raises as `require`."""
        active = repositories.enter(self.repository, RepositoryState.ACTIVE, self.stores.clock, self.stores.ids)
        self._swap(active.model_copy(update={"migrating": ""}))
        self.stores.registers.forget_all(self.repository.id)
        return self.repository

    def _swap(self, record: Repository) -> None:
        try:
            self.held = access.replace(self.stores.kv, keys.repository(record.id), self.held, record)
        except PredicateFailed:
            self._lost()

    def _lost(self) -> NoReturn:
        raise Conflict(
            f"repository {self.repository.id!r}: another run migrates it by now, or it was deleted; this run has ended",
            kind=Kind.LostRace,
            repository=self.repository.id,
        )
