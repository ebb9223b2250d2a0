"""Comparison of this machine's clock with that of an object store.

A stored time that is far ahead may be that of a wrong clock, or this machine's clock may be far behind. A clock far
ahead ends every grace period at once, and so does a time that a clock far behind has stored. The times of objects come
from a third clock, that of the object store.
"""

from __future__ import annotations

from datetime import timedelta

from graveler_core.blobs.port import Blobs
from graveler_core.model.clock import CLOCKS_DIFFER, Clock
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import owner_files

_OWN_CLOCK = ("file", "memory")
"""Schemes whose times usually come from the clock of this machine."""


def clock_difference(blobs: Blobs, owner: RepositoryUid, clock: Clock) -> timedelta:
    """Return the time by which this machine's clock is ahead of the object store's. It is negative for a clock that is
    behind, and zero if the clocks differ by no more than `CLOCKS_DIFFER`, or if it is unknown.

    Args:
        blobs: Storage namespace. Its owner file gets a new time.
        owner: Repository with an owner file there.
        clock: Clock of this machine.
    """
    file = owner_files.address(owner)
    if blobs.uri(file).partition(":")[0] in _OWN_CLOCK:
        return timedelta(0)
    before = clock.now()
    found = blobs.head(file) if blobs.renew(file) else None
    after = clock.now()
    if found is None or before - CLOCKS_DIFFER <= found.mtime <= after + CLOCKS_DIFFER:
        return timedelta(0)
    return (after if found.mtime > after else before) - found.mtime
