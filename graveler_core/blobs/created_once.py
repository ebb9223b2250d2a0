"""Wrapper for one call with several attempts: an object that one attempt has written is not written by the next."""

from __future__ import annotations

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data


class CreatedOnce(PassingBlobs):
    """Object store that creates each address once.

    Use it for the duration of one call only. Its memory is no proof that an object exists after a sweep.
    """

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self._created: set[str] = set()

    def create(self, address: str, data: Data) -> bool:
        if address in self._created:
            return False
        new = self.beneath.create(address, data)
        self._created.add(address)
        return new

    def delete(self, address: str) -> None:
        self.beneath.delete(address)
        self._created.discard(address)
