"""The cleaner: claim an entry, see that the repository is gone, empty it, release the namespace, forget the entry."""

from __future__ import annotations

from collections.abc import Generator

from tests.model.lifecycle.registers import DELETED, DELETING, PURGING, RESTORING, Entry, Flow, Registers


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
    claimed = entry._replace(state=PURGING, nonce=r.nonce(f"{by}{entry.nonce}"))
    if r.former.purge_unclaimed:
        claimed = entry
    else:
        yield None
        if not r.swap_entry(uid, entry, claimed):
            return "nothing"
    if (yield from _gone(r, uid, claimed)):
        yield from _empty(r, uid, claimed)
    yield None
    if r.former.entry_removed_unconditionally:
        r.swap_entry(uid, r.entries.get(uid), None)
    r.swap_entry(uid, claimed, None)
    return "cleaned"


def _gone(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, bool]:
    """Whether nobody can reach the repository; a record in `deleting` is removed first. Else the entry is void."""
    if r.former.purge_unchecked:
        return True
    while True:
        yield None
        standing = r.repositories.get(claimed.name)
        if standing is None or standing.uid != uid:
            return True
        if standing.state != DELETING:
            return False
        yield None
        if r.swap_repository(claimed.name, standing, None):
            return True


def _empty(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, None]:
    yield None
    r.purge(uid)
    if not r.former.no_grace:
        # Longer than any call that may still write for this uid.
        yield lambda registers: uid not in registers.writing  # type: ignore[misc]
        yield None
        r.purge(uid)
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
