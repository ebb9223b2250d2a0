"""Undelete: claim the entry, see that everything is left, `initial`, the entry away, `active`."""

from __future__ import annotations

from collections.abc import Generator

from tests.proofs.model.lifecycle.registers import (
    ACTIVE,
    DELETED,
    INITIAL,
    RESTORING,
    WHOLE,
    Claim,
    Entry,
    Flow,
    Registers,
    Repository,
)


def undelete(r: Registers, uid: str, by: str, *, lost: bool = False) -> Flow:
    """Bring a deleted repository back under its name; `lost`: the request that removes the entry does not arrive."""
    yield None
    entry = r.entries.get(uid)
    if entry is None or entry.state != DELETED or not (entry.repository.finished or r.former.restore_unfinished):
        return "not found"
    claimed = entry
    if not r.former.restore_unclaimed:
        claimed = entry._replace(state=RESTORING, nonce=r.nonce(f"{by}{entry.nonce}"))
        yield None
        if not r.swap_entry(uid, entry, claimed):
            return "lost race"
    if not (yield from _left(r, uid, claimed, by)):
        return (yield from _back(r, uid, claimed, by))
    initial = yield from _named(r, claimed, r.nonce(f"{by}1{entry.nonce}"))
    if initial is None:
        return (yield from _back(r, uid, claimed, by))
    active = initial._replace(state=ACTIVE, nonce=r.nonce(f"{by}2{entry.nonce}"))
    if not r.former.restore_entry_last:
        yield None
        if r.former.entry_removed_unconditionally:
            r.swap_entry(uid, r.entries.get(uid), None)
        elif not ((yield from _gone(r, uid, claimed)) if lost else r.swap_entry(uid, claimed, None)):
            return "lost race"
    yield None
    restored = r.swap_repository(claimed.name, initial, active)
    if r.former.restore_entry_last:
        yield None
        r.swap_entry(uid, claimed, None)
    return "restored" if restored else "lost race"


def _gone(r: Registers, uid: str, claimed: Entry) -> Generator[None, None, bool]:
    """Whether the entry is gone, and by this restoration, as far as it can tell after a lost request."""
    yield None
    standing = r.entries.get(uid)
    if standing == claimed:
        yield None
        return r.swap_entry(uid, claimed, None)
    if standing is not None and not r.former.restore_changed_entry:
        return False
    if r.former.restore_claim_unread:
        return True
    yield None
    owner = r.claims.get(claimed.repository.place)
    return owner is not None and owner.uid == uid


def _named(r: Registers, claimed: Entry, nonce: str) -> Generator[None, None, Repository | None]:
    """Take the name, or the record of the very repository that a deletion or another restoration left there, with its
    settings.
    """
    yield None
    standing = r.repositories.get(claimed.name)
    if standing is not None and (standing.uid != claimed.repository.uid or standing.state == ACTIVE):
        return None
    newest = claimed.repository
    if standing is not None and standing.deletions >= newest.deletions and not r.former.restore_settings_of_entry:
        newest = standing
    initial = newest._replace(state=INITIAL, nonce=nonce)
    yield None
    return initial if r.swap_repository(claimed.name, standing, initial) else None


def _left(r: Registers, uid: str, claimed: Entry, by: str) -> Generator[None, None, bool]:
    """Whether the repository is whole and its namespace its own; the claim is renewed."""
    repository = claimed.repository
    if r.former.restore_unchecked:
        return True
    yield None
    if not repository.bare and r.content.get(uid) != WHOLE:
        return False
    yield None
    owner = r.claims.get(repository.place)
    if owner is None or owner.uid != uid:
        return False
    yield None
    return r.swap_claim(repository.place, owner, Claim(uid, r.nonce(f"{by}{owner.nonce}")))


def _back(r: Registers, uid: str, claimed: Entry, by: str) -> Flow:
    yield None
    r.swap_entry(uid, claimed, claimed._replace(state=DELETED, nonce=r.nonce(f"{by}3{claimed.nonce}")))
    return "refused"
