"""Numbers and sizes of the entries of directories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Entries whose paths begin with `path`: their number, and the sum of their sizes in bytes.

    Entries are measured, not objects: content that two entries name counts twice.
    """

    path: str
    """A directory, which ends in "/", or the prefix that was measured."""
    entries: int
    size: int
