"""Record of a check of user data, so that it can be resumed and that others see when data was last checked.

A check of checksums writes down, after each batch, the address up to which it has read. Every write is a swap of the
record that this check wrote or read last. If another check has written since, the swap fails. This check then goes on,
and records nothing more: the check that began later owns the record. The record decides nothing else, so a lost write
costs only the repetition of work.

Each write follows a read of the repository record. The data of a deleted repository is removed days after its deletion,
and a batch takes less time, so no write follows that removal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from graveler_core.errors import Kind, OutcomeUnknown, PredicateFailed, Unavailable
from graveler_core.model.data_check import CompleteCheck, DataChecks, UnfinishedCheck
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores

MOST_BYTES: Final = 64 * 1_024
"""Maximum size of what a record says about an unfinished check, in bytes. It leaves room for the rest of the record."""


class DataCheckRecord:
    """Record of the checks of a repository, as one check sees it.

    Args:
        stores: Stores of the flow.
        repository: The repository.
        resume: Continue an unfinished check, if there is one.
    """

    def __init__(self, stores: Stores, repository: RepositoryRecord, *, resume: bool) -> None:
        self._stores = stores
        self._repository = repository
        self._where = keys.data_checks(repository)
        self._held = access.read(stores.kv, self._where)
        self._owned = True
        before = None if self._held is None else self._held.value.unfinished
        self.began: datetime = before.began if resume and before is not None else stores.clock.now()
        """Beginning of the check; of a resumed one, that of its first part."""
        self.through = before.through if resume and before is not None else ""
        """Address up to which an earlier part has read, in the order of addresses."""
        self.damaged = before.damaged if resume and before is not None else ()
        """Addresses up to `through` whose objects an earlier part found damaged."""

    def reached(self, through: str, damaged: Sequence[str]) -> None:
        """Write down that objects up to an address were read.

        If the damaged addresses do not fit, nothing is written, and a resumed check reads again what followed the last
        address that was written down. So it finds every damaged object again.

        Args:
            through: The address.
            damaged: Addresses up to it whose objects are damaged.
        """
        unfinished = UnfinishedCheck(began=self.began, through=through, damaged=tuple(damaged))
        if len(unfinished.model_dump_json().encode()) <= MOST_BYTES:
            self._write({"unfinished": unfinished})

    def complete(self, problems: int, *, checksums: bool) -> None:
        """Write down that the check is complete.

        Args:
            problems: Number of objects that are missing or damaged.
            checksums: The check has compared checksums, too.
        """
        done = CompleteCheck(began=self.began, problems=problems)
        self._write({"sizes": done, "checksums": done, "unfinished": None} if checksums else {"sizes": done})

    def _write(self, update: dict[str, object]) -> None:
        if not self._owned:
            return
        stores, repo = self._stores, self._repository
        if repositories.get(stores.kv, stores.clock, stores.ids, repo.id).uid != repo.uid:
            repositories.usable(repo.id, None)
        nonce = Nonce(stores.ids.fresh())
        before = DataChecks(nonce=nonce) if self._held is None else self._held.value
        record = before.model_copy(update={**update, "nonce": nonce})
        try:
            self._held = access.replace(stores.kv, self._where, self._held, record)
        except (PredicateFailed, OutcomeUnknown):
            self._owned = False
        except Unavailable as e:
            if e.kind is not Kind.StoreReadOnly:
                raise
            self._owned = False
