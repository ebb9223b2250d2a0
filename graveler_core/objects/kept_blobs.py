"""Blobs that stay while somebody is about to name them: what is found stored already is made sure of.

A blob that nothing names is taken by a sweep (`gc.sweep`) when it is old. What is young is safe for as long as a build
takes. What was there already may be old; so whoever finds it looks at its age, and renews it unless it is young.

A sweep that looks at an age and deletes, and a renewal, hold one register, one after the other (`sweep_register`). So a
deletion that was decided on while the blob was old is done when the blob becomes young, and is missed then; who finds
it young needs no register. A blob that was deleted and created anew is young too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data
from graveler_core.objects.sweep_register import SweepRegister

FRESH = timedelta(hours=1)
"""How long what was written, renewed or read is good for without another look; less than any grace of a sweep."""
_CONTENT = re.compile(r"_graveler/[0-9a-f]{64}")


class KeptBlobs(PassingBlobs):
    """`Blobs` of one repository that makes sure of what it finds stored already under the hash of its content."""

    def __init__(self, blobs: Blobs, register: SweepRegister, wall: Callable[[], float]) -> None:
        """Tell the age of blobs by `wall`, in seconds since 1970."""
        super().__init__(blobs)
        self.register = register
        self.wall = wall

    def create(self, address: str, data: Data) -> bool:
        """As the port says; what is stored under the hash of its content when this returns is young."""
        while not self.beneath.create(address, data):
            if not _CONTENT.fullmatch(address) or self._made_sure_of(address):
                return False
        return True

    def _made_sure_of(self, address: str) -> bool:
        """Whether it is there, and young."""
        found = self.beneath.head(address)
        if found is None or self.wall() - found.mtime.timestamp() < FRESH.total_seconds():
            return found is not None
        while True:
            with self.register.held() as in_time:
                if not self.beneath.renew(address):
                    return False
                if in_time():
                    return True
