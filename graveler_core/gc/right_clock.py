"""Check of this machine's clock, before it decides about grace periods."""

from __future__ import annotations

from datetime import timedelta

from graveler_core.errors import InvalidInput
from graveler_core.model.clock import to_the_second
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects.store_clock import clock_difference
from graveler_core.stores import Stores


def require_right_clock(stores: Stores, uri: str, owner: RepositoryUid) -> None:
    """Refuse to go on if the clocks of this machine and of the object store differ by more than an hour.

    Args:
        stores: Stores of the flow.
        uri: Storage namespace.
        owner: Repository with an owner file there.

    Raises:
        InvalidInput: The clocks differ by more.
    """
    ahead = clock_difference(stores.blobs.at(uri), owner, stores.clock)
    if ahead:
        way = "ahead of" if ahead > timedelta(0) else "behind"
        raise InvalidInput(
            f"namespace {uri!r}: the clock of this machine is {to_the_second(abs(ahead))} {way} that of the object "
            "store; set it, because grace periods depend on it; nothing was deleted"
        )
