"""Protection of existing files to which a build is about to refer.

A sweep (`gc.sweep`) deletes unreferenced files that are old. A young file is safe for as long as a build takes. A file
that existed before the build may be old. A build that finds such a file checks its age, and renews the file unless it
is young. If the response to a creation was lost, the build may have found the file or created it, so it checks the age,
too.

A sweep that checks ages and deletes, and a renewal, hold one register one after the other (`sweep_register`). A
deletion that was decided while the file was old is therefore complete before the file becomes young, and the renewal
notices that the file is missing. A build that finds a young file does not need the register. A file that was deleted
and created again is young too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data
from graveler_core.objects.sweep_register import SweepRegister

FRESH = timedelta(hours=1)
"""Time for which a file that was written, renewed or read needs no further check. It is shorter than any grace period
of a sweep.
"""
_CONTENT = re.compile(r"_graveler/[0-9a-f]{64}")


class KeptBlobs(PassingBlobs):
    """Object store of one repository that renews existing content-addressed files before it reports them as stored."""

    def __init__(self, blobs: Blobs, register: SweepRegister, wall: Callable[[], float]) -> None:
        """Measure the age of files by `wall`, in seconds since 1970."""
        super().__init__(blobs)
        self.register = register
        self.wall = wall

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        """Create a file as the port specifies. A content-addressed file is young when this returns.

        A content-addressed file that exists after a lost response may be an old one, so it never counts as new.
        """
        if not _CONTENT.fullmatch(address):
            return self.beneath.create(address, data, sure=sure)
        while not self.beneath.create(address, data, sure=True):
            if self._made_sure_of(address):
                return False
        return True

    def _made_sure_of(self, address: str) -> bool:
        """Return true if the file exists and is young."""
        found = self.beneath.head(address)
        # A file that is much younger than now was not written now: the clock of this machine is behind.
        if found is None or abs(self.wall() - found.mtime.timestamp()) < FRESH.total_seconds():
            return found is not None
        while True:
            with self.register.held() as hold:
                if not self.beneath.renew(address):
                    return False
                if hold.is_in_time():
                    return True
