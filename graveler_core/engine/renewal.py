"""Telling cleaners that a layer is being built still, while others build it.

A cleaner takes a layer from its builder when the cleanup record is older than any bulk write. A build on many machines
may take longer, so its driver renews the record: a swap of what was read, so a claim that came first stands, and one
that comes later is made on what was renewed, or fails. Nothing rests on it: a layer that was claimed all the same is
built again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from graveler_core.errors import GravelerError
from graveler_core.model.entities import Cleanup
from graveler_core.records import access
from graveler_core.records.location import Location
from graveler_core.stores import Stores

EVERY: Final = 300.0
"""Seconds: several times within what `CleaningPlan.building` gives a builder."""


@contextmanager
def renewed(stores: Stores, where: Location[Cleanup]) -> Iterator[None]:
    """Renew a cleanup record again and again, by a thread of its own, until the body ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(EVERY) and renew(stores, where):
            pass

    thread = threading.Thread(target=work, name="graveler-renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def renew(stores: Stores, where: Location[Cleanup]) -> bool:
    """Renew the record once; False if a cleaner has it."""
    with suppress(GravelerError):
        held = access.read(stores.kv, where)
        if held is None or held.value.purging:
            return False
        access.replace(stores.kv, where, held, held.value.model_copy(update={"since": stores.clock.now()}))
    return True
