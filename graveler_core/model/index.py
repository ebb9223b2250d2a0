"""Where the entries of a commit are: the layered index. Source: seed 002, "Indexes".

Newest first: the inline index, the runs, the metarange. The first that knows a key decides. The metarange holds entries
alone; the layers above it hold elements, each an entry or a removal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from graveler_core.model.ids import MetarangeId, ObjectId


class Place(IntEnum):
    """Where a run is kept."""

    OBJECT = 0
    """In the key-value store."""
    BLOB = 1
    """In the object store."""


@dataclass(frozen=True, slots=True)
class Run:
    """A sorted, immutable piece of what earlier commits changed."""

    id: ObjectId
    place: Place
    elements: int
    size: int
    """Bytes of its keys and records."""


@dataclass(frozen=True, slots=True)
class Index:
    """A layered index, by the ids of its parts; equal parts hold equal entries, but not the other way round."""

    metarange_id: MetarangeId
    runs: tuple[Run, ...] = ()
    """Newest first."""
    inline: bytes = b""
    """`codec.elements`: what this commit changed, and what commits before it changed and no run holds yet."""
    own_run: bool = False
    """What this commit changed was too much for the inline index: it is the first run."""
