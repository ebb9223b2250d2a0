"""The cleaner: claim an entry, see that the repository is gone, say so, empty it, release the namespace, forget it.

Here and there more is allowed than the engine does: each cleaner empties twice, and takes over any claim at once.
"""

from __future__ import annotations

from collections.abc import Generator

from tests.proofs.model.lifecycle.deleting import entered
from tests.proofs.model.lifecycle.registers import (
    DELETED,
    DELETING,
    EMPTYING,
    PURGING,
    RESTORING,
    Entry,
    Flow,
    Registers,
    Repository,
)


def clean(r: Registers, uid: str, by: str) -> Flow:
    """Clean what one uid left. A claim that is past its time is taken over; a restoration too, as `deleted`."""
    yield None
    entry = r.entries.get(uid)
    if entry is None:
        return "nothing"
    if entry.state == RESTORING:
        yield None
        r.swap_entry(uid, entry, entry._replace(state=DELETED, nonce=r.nonce(f"{by}{entry.nonce}")))
        return "nothing"
    claimed = entry._replace(
        state=EMPTYING if entry.state == EMPTYING else PURGING, nonce=r.nonce(f"{by}{entry.nonce}")
    )
    if r.former.purge_unclaimed:
        claimed = entry
    else:
        yield None
        if not r.swap_entry(uid, entry, claimed):
            return "nothing"
    standing = None if claimed.state == EMPTYING else (yield from _standing(r, uid, claimed))
    earlier = standing is not None and claimed.repository.deletions < standing.deletions
    if standing is not None and standing.state == DELETING and earlier and not r.former.purge_earlier:
        yield from entered(r, claimed.name, standing, by)
        return "nothing"
    if standing is None or standing.state == DELETING:
        if claimed.state == PURGING and not r.former.void_while_emptying:
            unsaid, claimed = claimed, claimed._replace(state=EMPTYING, nonce=r.nonce(f"{by}e{claimed.nonce}"))
            yield None
            if not r.swap_entry(uid, unsaid, claimed):
                return "nothing"
        yield from _record_removed(r, uid, claimed)
        yield from _empty(r, uid, claimed)
    yield None
    if r.former.entry_removed_unconditionally:
        r.swap_entry(uid, r.entries.get(uid), None)
    r.swap_entry(uid, claimed, None)
    return "cleaned"


def _standing(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, Repository | None]:
    """The record of the repository, but not that of a restoration of an earlier deletion. Unless it is `deleting`, a
    restoration may be under way, and the entry is void.
    """
    if r.former.purge_unchecked:
        return None
    yield None
    standing = r.repositories.get(claimed.name)
    if standing is None or standing.uid != uid or standing.deletions < claimed.repository.deletions:
        return None
    return standing


def _record_removed(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, None]:
    """Remove the record of a deletion that waits for that, or has died."""
    while not r.former.purge_unchecked:
        yield None
        standing = r.repositories.get(claimed.name)
        if standing is None or standing.uid != uid or standing.state != DELETING:
            return
        yield None
        if r.swap_repository(claimed.name, standing, None):
            return


def _empty(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, None]:
    yield None
    r.purge(claimed)
    if not r.former.no_grace:
        # Longer than any call that may still write for this uid.
        yield lambda registers: uid not in registers.writing  # type: ignore[misc]
        yield None
        r.purge(claimed)
    place = claimed.repository.place
    while True:
        yield None
        owner = r.claims.get(place)
        if owner is None or owner.uid != uid:
            return
        yield None
        # A restoration whose entry was taken from it may have renewed the claim in between: then once more.
        if r.swap_claim(place, owner, None) or r.former.release_once:
            return
