"""Wrapper for one call with several attempts: an object that one attempt has written is not written by the next."""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data
from graveler_core.errors import GravelerError


class CreatedOnce(PassingBlobs):
    """Object store that creates each address once.

    Use it for the duration of one call only. Its memory is no proof that an object exists after a sweep.
    """

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self._created: set[str] = set()

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        if address in self._created:
            return False
        new = self.beneath.create(address, data, sure=sure)
        self._created.add(address)
        return new

    def delete(self, address: str) -> None:
        self.beneath.delete(address)
        self._created.discard(address)

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        failed = self.beneath.delete_many(addresses)
        self._created -= set(addresses) - set(failed)
        return failed
