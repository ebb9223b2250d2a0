"""Deletion: `deleting`, the entry for the cleaner, the record away. As `engine.repositories.deletion`."""

from __future__ import annotations

from collections.abc import Generator

from tests.proofs.model.lifecycle.registers import (
    ACTIVE,
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


def delete(r: Registers, name: str, by: str) -> Flow:
    """Delete what bears a name; a creation that is not finished counts as past its time."""
    for _ in range(3):
        yield None
        held = r.repositories.get(name)
        if held is None:
            return "not found"
        if held.state != DELETING:
            deletions = held.deletions + (held.state == ACTIVE)
            deleting = held._replace(state=DELETING, nonce=r.nonce(f"{by}{held.nonce}"), deletions=deletions)
            yield None
            if not r.swap_repository(name, held, deleting):
                continue
            held = deleting
        if r.former.entry_after_removal:
            yield None
            r.swap_repository(name, held, None)
        if not (yield from entered(r, name, held, by)):
            return "deleted"
        yield None
        if r.former.unconditional_removal:
            r.swap_repository(name, r.repositories.get(name), None)
        r.swap_repository(name, held, None)
        return "deleted"
    return "slow down"


def entered(r: Registers, name: str, held: Repository, by: str) -> Generator[None, None, bool]:
    """Make the entry `deleted`, or that of a cleaner `emptying`; False if the cleaner took the record away itself."""
    entry = Entry(DELETED, r.nonce(f"{by}{held.nonce}"), held, name)
    for _ in range(3):
        yield None
        known = r.entries.get(held.uid)
        if known is not None and r.former.delete_ignores_restoring and known.state in (DELETED, RESTORING):
            return True
        if known is None or _is_replaced(r, known, held):
            yield None
            if r.swap_entry(held.uid, known, entry) or (known is None and r.former.any_entry_is_deleted):
                return True
        elif known.state not in (PURGING, EMPTYING):
            return True
        elif r.former.purging_is_deleted:
            return False
        elif (said := (yield from _emptying(r, name, held, known, by))) is not None:
            return said
    return False


def _emptying(r: Registers, name: str, held: Repository, known: Entry, by: str) -> Generator[None, None, bool | None]:
    """Say that a cleaner may go on; False if it took the record away itself, None to look again."""
    yield None
    if r.repositories.get(name) != held:
        return False
    emptying = known._replace(state=EMPTYING, nonce=r.nonce(f"{by}e{known.nonce}"))
    yield None
    return True if r.swap_entry(held.uid, known, emptying) else None


def _is_replaced(r: Registers, known: Entry, held: Repository) -> bool:
    """Whether a deletion replaces an entry: that of an earlier deletion, or its own while it is restored."""
    if known.repository.deletions == held.deletions:
        return known.state == RESTORING
    earlier = known.repository.deletions < held.deletions or r.former.delete_replaces_later
    return earlier and known.state != EMPTYING and not r.former.delete_keeps_earlier
