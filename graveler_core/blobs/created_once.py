"""A wrapper for one call that may try several times: what an attempt has written, the next one does not write again."""

from __future__ import annotations

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data


class CreatedOnce(PassingBlobs):
    """`Blobs` that creates an address once.

    For the length of one call only: what it remembers is no evidence after a collection by age.
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
