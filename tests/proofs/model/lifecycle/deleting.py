"""Deletion: `deleting`, the entry for the cleaner, the record away. As `engine.repositories.deletion`."""

from __future__ import annotations

from collections.abc import Generator

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


def delete(r: Registers, name: str, by: str) -> Flow:
    """Delete what bears a name; a creation that is not finished counts as past its time."""
    for _ in range(3):
        yield None
        held = r.repositories.get(name)
        if held is None:
            return "not found"
        if held.state != DELETING:
            deleting = held._replace(state=DELETING, nonce=r.nonce(f"{by}{held.nonce}"))
            yield None
            if not r.swap_repository(name, held, deleting):
                continue
            held = deleting
        if r.former.entry_after_removal:
            yield None
            r.swap_repository(name, held, None)
        if not (yield from _entered(r, name, held, by)):
            return "deleted"
        yield None
        if r.former.unconditional_removal:
            r.swap_repository(name, r.repositories.get(name), None)
        r.swap_repository(name, held, None)
        return "deleted"
    return "slow down"


def _entered(r: Registers, name: str, held: Repository, by: str) -> Generator[None, None, bool]:
    """Make the entry `deleted`, or that of a cleaner `emptying`; False if the cleaner took the record away itself."""
    entry = Entry(DELETED, r.nonce(f"{by}{held.nonce}"), held, name)
    for _ in range(3):
        yield None
        known = r.entries.get(held.uid)
        if known is not None and (known.state == DELETED or r.former.delete_ignores_restoring):
            return True
        if known is not None and known.state in (PURGING, EMPTYING):
            if r.former.purging_is_deleted:
                return False
            yield None
            if r.repositories.get(name) != held:
                return False
            emptying = known._replace(state=EMPTYING, nonce=r.nonce(f"{by}e{known.nonce}"))
            yield None
            if r.swap_entry(held.uid, known, emptying):
                return True
            continue
        assert known is None or known.state == RESTORING
        yield None
        if r.swap_entry(held.uid, known, entry) or (known is None and r.former.any_entry_is_deleted):
            return True
    return False
