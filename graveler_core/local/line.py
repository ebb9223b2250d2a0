"""Limit of the bytes that the uploads of several files send at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from graveler_core.blobs.port import UPLOADED_BYTES


class Line:
    """Limit of the bytes that several threads send at once.

    The time of each request is limited. Requests that share a slow line must not be so many that all of them are late.
    """

    def __init__(self) -> None:
        self._free = UPLOADED_BYTES
        self._changed = Condition()

    @contextmanager
    def sending(self, size: int) -> Iterator[None]:
        """Wait until there is room for a file of this size, and take the room inside the `with` statement."""
        taken = min(size, UPLOADED_BYTES)
        with self._changed:
            self._changed.wait_for(lambda: taken <= self._free)
            self._free -= taken
        try:
            yield
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()
