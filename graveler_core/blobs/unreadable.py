"""Single objects that a store cannot return: on a bad disk sector, or because they are archived or forbidden."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import BlobInfo, Data
from graveler_core.errors import CorruptData, Kind, Unavailable


def is_unreadable(error: Unavailable) -> bool:
    """Return true if an error is about one object that exists, and other objects can be read."""
    return bool(error.details.get("unreadable"))


class ExaminedBlobs(PassingBlobs):
    """Object store for checks. An object that cannot be read is damage (`CorruptData`), and not a failure of the
    store.
    """

    def read(self, address: str) -> bytes:
        with _as_damage(address):
            return self.beneath.read(address)

    def chunks(self, address: str) -> Iterator[Data]:
        with _as_damage(address):
            yield from self.beneath.chunks(address)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        with _as_damage(address):
            return self.beneath.read_range(address, start, length)

    def head(self, address: str) -> BlobInfo | None:
        with _as_damage(address):
            return self.beneath.head(address)


@contextmanager
def _as_damage(address: str) -> Iterator[None]:
    try:
        yield
    except Unavailable as e:
        if not is_unreadable(e):
            raise
        raise CorruptData(e.message, kind=Kind.CorruptObject, address=address) from e
