"""Storage namespaces without an owner: claims of creations that were interrupted until their records were gone.

A claim is removed if three reads find nothing: the deleted entry of its owner, then the owner's record
`repos/<name>`, then the entry again. Only the exact claim that was read first is removed. It is never the claim of a
repository that is active or can be restored, because such a repository has its record or its entry at any moment.
(The claim is created after the record. Deletion creates the entry before it removes the record; restoration creates
the record before it removes the entry.) Suppose that there were such a repository. There was no entry at the first
read, so the record existed then. There was no record at the second read, so the repository was deleted in between.
There was no entry at the third read, so it was restored since. But a restoration renews the claim first, so the claim
is not the one that was read. A creation whose record is gone is never activated. Claims of namespaces that are being
emptied have no owner, and stay (`gc.namespaces`).

The owner file is deleted before the claim is removed, so that no file stays that nobody knows. If the claim has been
renewed, the file is written again. After a crash in between, the next collection of the repository writes it. If the
claim is gone, its creation has undone itself, or another cleaner has removed the claim, and nobody needs the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from graveler_core.engine.cleaning.work import CleaningCall, Position, Step
from graveler_core.model.entities import ClaimState, NamespaceClaim
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location

Row = tuple[str, Held[NamespaceClaim]]


def claims(work: CleaningCall, at: Position) -> Iterator[Step]:
    """Process the claims."""
    only = work.plan.repository
    rows = access.scan(work.stores.kv, keys.NAMESPACES, after=at[0], damaged=work.damaged)
    while page := list(islice(rows, work.page)):
        mine = [row for row in page if only is None or row[1].value.repository == only]
        mine = [row for row in mine if row[1].value.state is ClaimState.OWNED]
        work.together("claims of storage namespaces", mine, partial(_orphans, work))
        yield (page[-1][0],), len(page)


def _orphans(work: CleaningCall, rows: Sequence[Row]) -> None:
    # Nearly all claims have owners. The three reads are only done for the others.
    for looks_at_entry in (False, True, False, True):
        rows = _unowned(work, rows, looks_at_entry)
    for uri, held in rows:
        with work.trying(f"claim of storage namespace {uri}"):
            work.done.claims += work.plan.dry_run or _removed(work, uri, held)


def _removed(work: CleaningCall, uri: str, held: Held[NamespaceClaim]) -> bool:
    """Delete the owner file, then remove the claim. If a restoration has renewed the claim, write the file again."""
    blobs, claim = work.stores.blobs.at(uri), held.value
    owner_files.remove(blobs, claim.owner)
    is_renewed = partial(_is_of, claim.owner)
    where = keys.namespace_claim(uri)
    if access.remove(work.stores.kv, where, held, lives_on=is_renewed):
        return True
    standing = access.read(work.stores.kv, where)
    if standing is not None and is_renewed(standing.value):
        owner_files.write(blobs, claim.repository, claim.owner)
    return False


def _is_of(owner: RepositoryUid, current: NamespaceClaim) -> bool:
    return current.owner == owner


def _unowned(work: CleaningCall, rows: Sequence[Row], looks_at_entry: bool) -> list[Row]:
    """Return the claims whose owner has no entry, or no record."""
    owners = [(held.value.repository, held.value.owner) for _, held in rows]
    wheres: list[Location[Any]] = [
        keys.deleted_repository(name, uid) if looks_at_entry else keys.repository(name) for name, uid in owners
    ]
    found = access.read_many(work.stores.kv, wheres)
    return [
        row
        for row, (_, uid), held in zip(rows, owners, found, strict=True)
        if held is None or not (looks_at_entry or held.value.uid == uid)
    ]
