"""Comparison of this machine's clock with that of an object store.

A stored time that is far ahead may be that of a wrong clock, or this machine's clock may be far behind. A clock far
ahead ends every grace period at once, and so does a time that a clock far behind has stored. The times of objects come
from a third clock, that of the object store.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from hashlib import sha256

from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.port import Blobs
from graveler_core.errors import InvalidInput, PermissionDenied
from graveler_core.model.clock import CLOCKS_DIFFER, Clock, to_the_second
from graveler_core.model.ids import RepositoryUid

_OWN_CLOCK = ("file", "memory")
"""Schemes whose times usually come from the clock of this machine."""


def address(owner: RepositoryUid) -> str:
    """Return the address of the file that is written to learn the time of an object store, and deleted at once.

    If it is not deleted, the next comparison or a sweep deletes it.
    """
    return OWN + sha256(f"clock {owner}".encode()).hexdigest()


def clock_difference(blobs: Blobs, owner: RepositoryUid, clock: Clock) -> timedelta | None:
    """Return the time by which this machine's clock is ahead of the object store's. It is negative for a clock that is
    behind, zero if the clocks differ by no more than `CLOCKS_DIFFER`, and `None` if it cannot be found out.

    Args:
        blobs: Storage namespace.
        owner: Repository that has the namespace.
        clock: Clock of this machine.
    """
    file = address(owner)
    if blobs.uri(file).partition(":")[0] in _OWN_CLOCK:
        return timedelta(0)
    before, made = clock.now(), blobs.create(file, owner.encode())
    if not made:
        _delete(blobs, file)
        before, made = clock.now(), blobs.create(file, owner.encode())
    found, after = blobs.head(file) if made else None, clock.now()
    _delete(blobs, file)
    if found is None:
        return None
    if before - CLOCKS_DIFFER <= found.mtime <= after + CLOCKS_DIFFER:
        return timedelta(0)
    return (after if found.mtime > after else before) - found.mtime


def _delete(blobs: Blobs, file: str) -> None:
    with suppress(PermissionDenied):  # some buckets allow no deletions for a while
        blobs.delete(file)


def require_right_clock(blobs: Blobs, owner: RepositoryUid, clock: Clock) -> None:
    """Refuse to go on if the clocks of this machine and of the object store differ by more than an hour.

    Args:
        blobs: Storage namespace.
        owner: Repository that has the namespace.
        clock: Clock of this machine.

    Raises:
        InvalidInput: The clocks differ by more.
    """
    ahead = clock_difference(blobs, owner, clock)
    if ahead:
        way = "ahead of" if ahead > timedelta(0) else "behind"
        place = blobs.uri(address(owner)).rpartition(f"/{OWN}")[0]
        raise InvalidInput(
            f"namespace {place!r}: the clock of this machine is {to_the_second(abs(ahead))} {way} that of the object "
            "store; set it, because grace periods depend on it; nothing was deleted"
        )
