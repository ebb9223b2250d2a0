"""Creation: `initial`, claim the namespace, look around, fill, `active`. As `engine.repositories.creation`."""

from __future__ import annotations

from collections.abc import Generator

from tests.proofs.model.lifecycle.registers import ACTIVE, INITIAL, Claim, Flow, Registers, Repository


def create(r: Registers, name: str, uid: str, place: str, bare: bool = False) -> Flow:
    """Create a repository; its uid is this call's own."""
    r.writing.add(uid)
    try:
        return (yield from _created(r, name, Repository(uid, INITIAL, r.nonce(f"{uid}1"), place, bare)))
    finally:
        r.writing.discard(uid)


def _created(r: Registers, name: str, record: Repository) -> Flow:
    uid = record.uid
    active = record._replace(state=ACTIVE, nonce=r.nonce(f"{uid}2"), finished=True)
    if r.former.record_by_active:
        yield None
        if name in r.repositories:
            return "exists"
    else:
        yield None
        if not r.swap_repository(name, None, record):
            return "exists"
    if not (yield from _claimed(r, name, record)):
        return "namespace in use"
    if r.former.active_before_branch:
        yield None
        if not r.swap_repository(name, record, active):
            return "lost race"
    if not record.bare:
        yield None
        r.add(uid, "commit")
        yield None
        r.add(uid, "branch")
    if r.former.active_before_branch:
        return "created"
    yield None
    standing = None if r.former.record_by_active else record
    return "created" if r.swap_repository(name, standing, active) else "lost race"


def _claimed(r: Registers, name: str, record: Repository) -> Generator[None, None, bool]:
    claim = Claim(record.uid, r.nonce(f"{record.uid}c"))
    if r.former.look_before_claim:
        yield None
        if any(_overlap(record.place, other) for other in r.claims):
            yield from _withdraw(r, name, record)
            return False
    yield None
    if not r.swap_claim(record.place, None, claim):
        yield from _withdraw(r, name, record)
        return False
    if r.former.look_before_claim:
        return True
    yield None
    if any(_overlap(record.place, other) for other in r.claims if other != record.place):
        yield None
        r.swap_claim(record.place, claim, None)
        yield from _withdraw(r, name, record)
        return False
    return True


def _withdraw(r: Registers, name: str, record: Repository) -> Generator[None, None, None]:
    yield None
    standing = r.repositories.get(name)
    if r.former.withdraw_by_uid:
        if standing is not None and standing.uid == record.uid:
            yield None
            r.swap_repository(name, standing, None)
    else:
        r.swap_repository(name, record, None)


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
