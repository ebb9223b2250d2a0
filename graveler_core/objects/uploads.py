"""Uploads: user data that is stored long before an entry refers to it, recorded so that abandoned files can be found.

A job stores files for hours, and one commit refers to them at the end. If the job dies before, no entry does.
Finding such files by reading all entries would be expensive, and unsafe, because an entry is a value that may be staged
again at any time. Therefore a job records the upload first, and stores its objects below a prefix of its own,
`data/<id>/`, with a random id that only the job knows.

    uploads/<id>   created before the first object                 uploading
                   ✓ by the job, before its commit                 uploading → naming
                   ✓ by a job that gives up, or by a sweep         uploading → purging
                   removed when the commit is made, or the objects are deleted

No object to which an entry refers is lost, for the following reason. Objects are deleted only in the state `purging`.
Entries are passed to a commit only in the state `naming`, and before that nobody else knows an address. Both states are
entered by a swap from `uploading`, so only one of them succeeds. The job holds the record of its own swap to `naming`.
It gives the objects up by a swap from that record, and only if the commit is known to have failed. Others may leave
`naming` only by removing the record. Correctness does not depend on a clock: a job that takes longer than the grace
period of a sweep loses its files, and its commit fails.

A crash leaves a record. In `uploading`, a sweep deletes the objects once the record is old. In `naming`, entries may
refer to the objects, so they stay, and a sweep removes the record; the objects are left over if the job died between
two calls. In `purging`, a sweep deletes the objects, including those of delayed requests, and removes the record once
it is old.

Who has assembled a multipart upload gives its record a new nonce (`renew`). The state stays the same.

The request that creates a record is sent only once. A delayed second request would show objects to which entries refer
as `uploading`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from graveler_core.blobs.deletion import RefusedDeletions, delete_permitted
from graveler_core.blobs.port import Blobs
from graveler_core.errors import Conflict, CorruptData, GravelerError, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import RepositoryRecord, Upload, UploadPart, UploadState, UploadTarget
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Uploads:
    """Uploads of one repository."""

    kv: Store
    blobs: Blobs
    repository: RepositoryRecord
    clock: Clock
    ids: IdSource

    def begin(self, target: UploadTarget | None = None) -> str:
        """Start an upload. Objects may then be created below its `prefix`.

        Args:
            target: Branch and path of a multipart upload.

        Returns:
            Id of the upload.

        Raises:
            OutcomeUnknown: Start another upload. Nothing may be stored for this one.
        """
        id = self.ids.fresh()
        access.create(
            self.kv, keys.uploads(self.repository).at(id), self._now(UploadState.UPLOADING, target), once=True
        )
        return id

    def name(self, ids: Iterable[str]) -> dict[str, Held[Upload]]:
        """Announce that entries will refer to the objects of these uploads. Prefer `naming`.

        Returns:
            The records, for `settle` and `give_up`.

        Raises:
            Conflict: An upload was given up, by a sweep or by the job (`Discarded`).
            OutcomeUnknown: It is unknown whether an upload was announced. No entry may refer to its objects.
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
                self.give_up(named, named)  # no commit was attempted
            raise
        return named

    @contextmanager
    def naming(self, ids: Iterable[str]) -> Iterator[Mapping[str, Held[Upload]]]:
        """Announce uploads for one write inside the `with` statement, whose entries refer to their objects.

        If the write fails without effect (any `GravelerError` except `OutcomeUnknown`), the uploads are given up. After
        a successful write, call `settle`.

        Raises:
            Conflict: As for `name`.
            OutcomeUnknown: As for `name`.
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
        """Remove the records after the commit. The objects are then as safe as all others."""
        for id, held in named.items():
            access.remove(self.kv, keys.uploads(self.repository).at(id), held)

    def give_up(self, ids: Iterable[str], named: Mapping[str, Held[Upload]] | None = None) -> None:
        """Delete the objects of uploads to which no entry refers or will refer.

        Args:
            ids: Ids of the uploads.
            named: Result of `name`, if the uploads were announced and no commit refers to them. Other announced
                uploads are kept.
        """
        for id in ids:
            held = (named or {}).get(id) or self.find(id)
            while held is not None and (held.value.state is UploadState.UPLOADING or id in (named or {})):
                claimed = self.purging(id, held)
                if claimed is not None:
                    self.delete(id)
                    access.remove(self.kv, keys.uploads(self.repository).at(id), claimed)
                    break
                held = None if id in (named or {}) else self.find(id)  # it may have been renewed

    def renew(self, id: str, held: Held[Upload]) -> bool:
        """Give the record of an upload a new nonce, in exactly the state that was read.

        Returns:
            True if the record was renewed. Of several processes that have read the same record, one gets this answer.
        """
        renewed = held.value.model_copy(update={"nonce": Nonce(self.ids.fresh())})
        try:
            access.replace(self.kv, keys.uploads(self.repository).at(id), held, renewed)
        except PredicateFailed:
            return False
        return True

    def restarted(self, id: str, held: Held[Upload]) -> Held[Upload]:
        """Enter an upload again in its state, with the time now. Return the record that was given if it has changed."""
        with suppress(Conflict):
            return self._swap(id, held, held.value.state)
        return held

    def find(self, id: str) -> Held[Upload] | None:
        """Return the record of an upload, or `None`."""
        return access.read(self.kv, keys.uploads(self.repository).at(id))

    def standing(self, damaged: Callable[[CorruptData], object] | None = None) -> Iterator[tuple[str, Held[Upload]]]:
        """Yield all uploads that are in progress or were abandoned.

        Args:
            damaged: Called for each record that cannot be read, as by `access.scan`.
        """
        found = access.scan(self.kv, keys.uploads(self.repository), damaged=damaged)
        return ((id, held) for id, held in found if _ID.fullmatch(id))

    def standing_ids(self) -> set[str]:
        """Return the ids of all uploads that are in progress or were abandoned. Records that cannot be read count."""
        folder = keys.uploads(self.repository)
        rows = self.kv.scan(folder.partition, prefix=folder.prefix)
        ids = (row.key.removeprefix(folder.prefix).decode(errors="replace") for row in rows)
        return {id for id in ids if _ID.fullmatch(id)}

    def purging(self, id: str, held: Held[Upload]) -> Held[Upload] | None:
        """Claim the objects of an upload in exactly the state that was read. Return `None` if the state has changed."""
        try:
            return self._swap(id, held, UploadState.PURGING)
        except Conflict:
            return None

    def delete(self, id: str, deleted: Callable[[int], object] = lambda size: None) -> RefusedDeletions:
        """Delete the objects of an upload in the state `purging`.

        Args:
            id: Id of the upload.
            deleted: Called with the size of each deleted object in bytes.

        Returns:
            The objects that the store refuses to delete. A later call tries again.
        """
        refused = RefusedDeletions()
        blobs = self.blobs.list(prefix(id))
        while batch := list(islice(blobs, self.blobs.deletes_at_once)):
            left = delete_permitted(self.blobs, [blob.address for blob in batch])
            refused.add(left)
            for blob in batch:
                if blob.address not in left:
                    deleted(blob.size)
        if not refused.count:
            self.forget_parts(id)
        return refused

    @staticmethod
    def is_id(text: str) -> bool:
        """Return true if a text can be the id of an upload."""
        return _ID.fullmatch(text) is not None

    def parts(self, id: str) -> dict[int, UploadPart]:
        """Return the parts of an upload by their numbers."""
        found = access.scan(self.kv, keys.upload_parts(self.repository), prefix=f"{id}/")
        return {int(name.rpartition("/")[2]): held.value for name, held in found}

    def forget_parts(self, id: str) -> None:
        """Remove the records of the parts of an upload that has ended, except those that cannot be read."""
        folder = keys.upload_parts(self.repository)
        found = access.scan(self.kv, folder, prefix=f"{id}/", damaged=lambda error: None)
        access.remove_many(self.kv, [(folder.at(name), held) for name, held in found])

    def orphans(self, cutoff: datetime) -> set[str]:
        """Return the ids of uploads that do not exist, with a part that is older than a time.

        Parts whose records cannot be read are left out.
        """
        folder = keys.upload_parts(self.repository)
        found = access.scan(self.kv, folder, damaged=lambda error: None)
        old = {name.partition("/")[0] for name, held in found if held.value.creation_date <= cutoff}
        return old - self.standing_ids()

    def _swap(self, id: str, held: Held[Upload], state: UploadState) -> Held[Upload]:
        record = self._now(state, held.value.target)
        try:
            return access.replace(self.kv, keys.uploads(self.repository).at(id), held, record)
        except PredicateFailed:
            raise _given_up(id) from None

    def _now(self, state: UploadState, target: UploadTarget | None) -> Upload:
        return Upload(state=state, nonce=Nonce(self.ids.fresh()), since=self.clock.now(), target=target)


def prefix(id: str) -> str:
    """Return the prefix of the objects of an upload, relative to the storage namespace."""
    return f"data/{id}/"


def _given_up(id: str) -> Conflict:
    return Conflict(
        f"upload {id}: was given up, because it took longer than the grace period of a sweep; store the objects again",
        kind=Kind.Discarded,
        upload=id,
    )
