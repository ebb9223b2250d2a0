"""Check of this machine's clock, before it decides about grace periods.

A clock far ahead ends every grace period at once, and so does a time that a clock far behind has stored. The object
store has a clock of its own, from which the times of its objects come.
"""

from __future__ import annotations

from hashlib import sha256

from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.deletion import delete_permitted
from graveler_core.errors import InvalidInput
from graveler_core.model.address import namespace
from graveler_core.model.clock import CLOCKS_DIFFER, to_the_second
from graveler_core.stores import Stores

_OWN_CLOCK = ("file", "memory")
"""Schemes whose times come from the clock of this machine."""


def require_right_clock(stores: Stores, uri: str) -> None:
    """Refuse to go on if the clocks of this machine and of an object store differ by more than `CLOCKS_DIFFER`.

    A file is written into the namespace, and deleted. If that is not completed, a sweep deletes the file.

    Args:
        stores: Stores of the flow.
        uri: Storage namespace.

    Raises:
        InvalidInput: The clocks differ by more.
    """
    if namespace(uri).scheme in _OWN_CLOCK:
        return
    blobs, content = stores.blobs.at(uri), stores.ids.fresh().encode()
    address = OWN + sha256(content).hexdigest()
    before = stores.clock.now()
    blobs.create(address, content)
    found, after = blobs.head(address), stores.clock.now()
    delete_permitted(blobs, [address], stores.executor.map)
    if found is not None and not before - CLOCKS_DIFFER <= found.mtime <= after + CLOCKS_DIFFER:
        way = "behind" if found.mtime > after else "ahead of"
        raise InvalidInput(
            f"namespace {uri!r}: the clock of this machine is {to_the_second(abs(found.mtime - after))} {way} that of "
            "the object store; set it, because grace periods depend on it; nothing was deleted"
        )
