"""Marks of erased content: one record for each address, so that one address is found without reading the others.

    erased/<hash of the address>   address, erasure, rounds

A mark counts if its erasure exists, was not withdrawn, and lists one of the rounds of the mark. A process that works on
an erasure writes all marks of a round first, and then lists this round (`graveler_core.erasure.flow`). It lists no
round of another process: that process may still be writing marks. If it finds a mark that does not count, it adds its
own round. So the marks that count are fixed once a round is listed, and the marks of a process that was late never
count.

A mark of another erasure is replaced if that erasure has ended and the mark does not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from graveler_core.errors import PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import ErasedContent, Erasure, ErasureState
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

LOOKED_UP = 1_000
"""Maximum number of addresses that are looked up at once. For more addresses, some marks are scanned first."""


@dataclass(frozen=True, slots=True)
class ErasedContents:
    """Erased content in the storage namespace of one repository. Erasures that were read are remembered, so use a new
    value for each check.
    """

    kv: Store
    repository: RepositoryId
    uid: RepositoryUid
    _known: dict[str, Erasure | None] = field(default_factory=dict)

    def of(self, addresses: Sequence[str]) -> dict[str, Erasure]:
        """Return the erasure of each address whose content is erased, or is about to be.

        Args:
            addresses: Addresses relative to the storage namespace.
        """
        found = ((mark.address, self.counting(mark)) for mark in self._of(addresses))
        return {address: erasure for address, erasure in found if erasure is not None}

    def marks(self) -> Iterator[ErasedContent]:
        """Yield all marks, in no particular order."""
        for _, held in access.scan(self.kv, keys.erased(self.repository, self.uid)):
            yield held.value

    def marked(self, erasure: Erasure) -> list[ErasedContent]:
        """Return the marks of an erasure that count, in no particular order."""
        return [mark for mark in self.marks() if mark.counts_for(erasure)]

    def mark(self, mark: ErasedContent) -> bool:
        """Write a mark for the erasure that is under way, which does not list the round yet.

        Returns:
            True if the erasure must list the round. False if a mark of the address counts already, or another erasure
            is under way by now.
        """
        where = keys.erased(self.repository, self.uid).at(name_of(mark.address))
        while True:
            held = access.read(self.kv, where)
            if held is not None and held.value.erasure == mark.erasure:
                if self.counting(held.value) is not None:
                    return False
                joined = held.value.model_copy(update={"later_rounds": (*held.value.later_rounds, mark.round)})
            elif held is None or self._replaceable(held.value):
                joined = mark
            else:
                return False
            with suppress(PredicateFailed):
                access.replace(self.kv, where, held, joined, mine=lambda now: mark.round in now.rounds)
                return True

    def _replaceable(self, mark: ErasedContent) -> bool:
        """Return `True` if a mark does not count and never will, because its erasure has ended."""
        erasure = self.find(mark.erasure)
        return erasure is None or (erasure.ended is not None and self.counting(mark) is None)

    def counting(self, mark: ErasedContent) -> Erasure | None:
        """Return the erasure of a mark that counts."""
        erasure = self.find(mark.erasure)
        if erasure is None or erasure.state is ErasureState.WITHDRAWN or not mark.counts_for(erasure):
            return None
        return erasure

    def find(self, id: str) -> Erasure | None:
        """Return an erasure. The one that is under way is read first, because it is entered as ended before it ends."""
        if id not in self._known:
            held = self.current()
            if held is None or held.value.id != id:
                held = access.read(self.kv, keys.erasures(self.repository, self.uid).at(id))
            self._known[id] = None if held is None else held.value
        return self._known[id]

    def current(self) -> Held[Erasure] | None:
        """Return the erasure that is under way."""
        return access.read(self.kv, keys.erasing(self.repository, self.uid))

    def ended(self) -> Iterator[Erasure]:
        """Yield the erasures that have ended, oldest first."""
        for _, held in access.scan(self.kv, keys.erasures(self.repository, self.uid)):
            yield held.value

    def _of(self, addresses: Sequence[str]) -> Iterator[ErasedContent]:
        """Yield the marks of addresses.

        For many addresses, as many marks are scanned. If there are more marks, the addresses whose marks would follow
        are looked up. The cost therefore does not grow with the number of marks.
        """
        folder = keys.erased(self.repository, self.uid)
        wanted, limit = frozenset(addresses), len(addresses)
        scanned, last = 0, ""
        if limit > LOOKED_UP:
            for name, held in islice(access.scan(self.kv, folder), limit):
                scanned, last = scanned + 1, name
                if held.value.address in wanted:
                    yield held.value
            if scanned < limit:
                return
        names = [name for name in map(name_of, addresses) if name > last]
        for start in range(0, len(names), LOOKED_UP):
            found = access.read_many(self.kv, [folder.at(name) for name in names[start : start + LOOKED_UP]])
            yield from (held.value for held in found if held is not None)


def erased_contents(kv: Store, repo: RepositoryRecord) -> ErasedContents:
    """Return the erased content of a repository."""
    return ErasedContents(kv, repo.id, repo.uid)


def name_of(address: str) -> str:
    """Return the name of the mark of an address."""
    return hashlib.sha256(address.encode()).hexdigest()[:40]
