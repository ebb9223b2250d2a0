"""Objects of users' data that are stored long before anything names them, so that those of the dead are found again.

A job stores files for hours, then one commit names them. If it dies before, nothing does, and to look for what no entry
names would mean to read all entries there are; and it would not be safe, as entries are values: who holds one may
stage it at any time. So whoever stores objects without naming them writes down that it does, and stores them below a
prefix of its own, `data/<id>/`, whose id is random and told to nobody but its author.

    uploads/<id>   created before the first object                 uploading
                   ✓ by who is about to commit what names them     uploading → naming
                   ✓ by who gives them up, or finds them old       uploading → purging
                   removed when the commit is made, or the objects are gone

Why nothing is lost that anything names. Objects are deleted in `purging` alone. Entries are handed to a commit in
`naming` alone, and before that nobody else knows an address to name. Both begin with a swap from `uploading`, so one of
them fails. Who announces holds the record of this very swap, and gives the objects up by a swap from it, and only
where the commit is known not to be made; nobody else leaves `naming` but to remove the record. Nothing rests on a
clock: an author that takes longer than the grace of a sweep loses its work, and is told so.

A crash leaves a record. `uploading`: a sweep deletes the objects once it is old. `naming`: they may be named, so they
stay, and a sweep removes the record; what its author stored is left over if it died between two calls. `purging`: a
sweep deletes what is there, also what a late request has stored, and removes the record once it is old.

A record is created by one sending alone: one that came late would show what was named long ago as `uploading`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from graveler_core.blobs.port import Blobs
from graveler_core.errors import Conflict, GravelerError, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import Repository, Upload, UploadState
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Uploads:
    """The uploads of one repository."""

    kv: Store
    blobs: Blobs
    repository: Repository
    clock: Clock
    ids: IdSource

    def begin(self) -> str:
        """The id of a new upload: objects may be created below `prefix` of it.

        Raises:
            OutcomeUnknown: begin another; nothing may be stored for this one.
        """
        id = self.ids.fresh()
        access.create(self.kv, keys.uploads(self.repository).at(id), self._now(UploadState.UPLOADING), once=True)
        return id

    def name(self, ids: Iterable[str]) -> dict[str, Held[Upload]]:
        """Announce that entries will name objects of these uploads; or by `naming`. Gives what the others take.

        Raises:
            Conflict: (`Discarded`) one of them was given up, by a sweep or by its author.
            OutcomeUnknown: it cannot be told whether one of them was announced; nothing may name its objects.
        """
        wanted, named = list(ids), dict[str, Held[Upload]]()
        found = access.read_many(self.kv, [keys.uploads(self.repository).at(id) for id in wanted])
        try:
            for id, held in zip(wanted, found, strict=True):
                if held is None or held.value.state is not UploadState.UPLOADING:
                    raise _given_up(id)
                named[id] = self._swap(id, held, UploadState.NAMING)
        except GravelerError:
            with suppress(GravelerError):
                self.give_up(named, named)  # no commit was tried
            raise
        return named

    @contextmanager
    def naming(self, ids: Iterable[str]) -> Iterator[Mapping[str, Held[Upload]]]:
        """Announce uploads for one write, made inside the `with` statement, whose entries name their objects.

        Where it says that nothing was changed (any `GravelerError` but `OutcomeUnknown`), the uploads are given up.
        Afterwards they are to be settled.

        Raises:
            Conflict, OutcomeUnknown: as `name`.
        """
        named = self.name(ids)
        try:
            yield named
        except OutcomeUnknown:
            raise
        except GravelerError:
            with suppress(GravelerError):
                self.give_up(named, named)
            raise

    def settle(self, named: Mapping[str, Held[Upload]]) -> None:
        """The commit is made: the objects are as safe as all others."""
        for id, held in named.items():
            access.remove(self.kv, keys.uploads(self.repository).at(id), held)

    def give_up(self, ids: Iterable[str], named: Mapping[str, Held[Upload]] | None = None) -> None:
        """Delete the objects of uploads that nothing names, nor ever will.

        Args:
            named: What `name` gave, where they were announced, and no commit names them. Others are left alone if
                somebody announced them.
        """
        for id in ids:
            held = (named or {}).get(id) or self.find(id)
            if held is not None and (held.value.state is UploadState.UPLOADING or id in (named or {})):
                claimed = self.purging(id, held)
                if claimed is not None:
                    self.delete(id)
                    access.remove(self.kv, keys.uploads(self.repository).at(id), claimed)

    def find(self, id: str) -> Held[Upload] | None:
        """The record of an upload."""
        return access.read(self.kv, keys.uploads(self.repository).at(id))

    def standing(self) -> Iterator[tuple[str, Held[Upload]]]:
        """All that are under way or were left behind, lazily."""
        return ((id, held) for id, held in access.scan(self.kv, keys.uploads(self.repository)) if _ID.fullmatch(id))

    def purging(self, id: str, held: Held[Upload]) -> Held[Upload] | None:
        """Claim the objects of an upload in the very state that was read; None if it is in another one by now."""
        try:
            return self._swap(id, held, UploadState.PURGING)
        except Conflict:
            return None

    def delete(self, id: str, deleted: Callable[[int], object] = lambda size: None) -> None:
        """Delete what is stored for an upload that is `purging`.

        Args:
            deleted: Told the bytes of each object.
        """
        for blob in self.blobs.list(prefix(id)):
            self.blobs.delete(blob.address)
            deleted(blob.size)

    def _swap(self, id: str, held: Held[Upload], state: UploadState) -> Held[Upload]:
        record = self._now(state)
        try:
            return access.replace(self.kv, keys.uploads(self.repository).at(id), held, record)
        except PredicateFailed as e:
            raise _given_up(id) from e

    def _now(self, state: UploadState) -> Upload:
        return Upload(state=state, nonce=Nonce(self.ids.fresh()), since=self.clock.now())


def prefix(id: str) -> str:
    """Where the objects of an upload are stored, below the storage namespace."""
    return f"data/{id}/"


def _given_up(id: str) -> Conflict:
    return Conflict(
        f"upload {id}: was given up, as it took longer than the grace of a sweep; store the objects anew",
        kind=Kind.Discarded,
        upload=id,
    )
