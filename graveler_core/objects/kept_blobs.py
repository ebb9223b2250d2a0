"""Blobs that stay while somebody is about to name them: what is found stored already is made sure of.

A blob that nothing names is taken by a sweep (`gc.sweep`) when it is old. What is young is safe for as long as a build
takes. What was there already may be old; so whoever finds it looks at its age, and renews it unless it is young.

A sweep that looks at an age and deletes, and a renewal, hold one register, one after the other (`sweep_register`). So a
deletion that was decided on while the blob was old is done when the blob becomes young, and is missed then; who finds
it young needs no register. A blob that was deleted and created anew is young too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from graveler_core.blobs.port import BlobInfo, Blobs, Data
from graveler_core.objects.sweep_register import SweepRegister

FRESH = timedelta(hours=1)
"""How long what was written, renewed or read is good for without another look; less than any grace of a sweep."""
_CONTENT = re.compile(r"_graveler/[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KeptBlobs:
    """`Blobs` of one repository that makes sure of what it finds stored already under the hash of its content."""

    blobs: Blobs
    register: SweepRegister
    wall: Callable[[], float] = time.time
    """Seconds since 1970, by which the age of a blob is told."""

    def create(self, address: str, data: Data) -> bool:
        """As the port says; what is stored under the hash of its content when this returns is young."""
        while not self.blobs.create(address, data):
            if not _CONTENT.fullmatch(address) or self._made_sure_of(address):
                return False
        return True

    def read(self, address: str) -> bytes:
        return self.blobs.read(address)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self.blobs.read_range(address, start, length)

    def head(self, address: str) -> BlobInfo | None:
        return self.blobs.head(address)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return self.blobs.list(prefix, after)

    def delete(self, address: str) -> None:
        self.blobs.delete(address)

    def renew(self, address: str) -> bool:
        return self.blobs.renew(address)

    def uri(self, address: str) -> str:
        return self.blobs.uri(address)

    def close(self) -> None:
        self.blobs.close()

    def _made_sure_of(self, address: str) -> bool:
        """Whether it is there, and young."""
        found = self.blobs.head(address)
        if found is None or self.wall() - found.mtime.timestamp() < FRESH.total_seconds():
            return found is not None
        while True:
            with self.register.held() as in_time:
                if not self.blobs.renew(address):
                    return False
                if in_time():
                    return True
