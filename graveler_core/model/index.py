"""Location of the entries of a commit: the layered index. Source: seed 002, "Indexes".

The layers, newest first, are the inline index, the runs and the metarange. The first layer that contains a key decides.
The metarange contains only entries. The layers above it contain elements; an element is an entry or a removal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from graveler_core.model.ids import MetarangeId, ObjectId


class RunLocation(IntEnum):
    """Storage location of a run."""

    OBJECT = 0
    """In the key-value store."""
    BLOB = 1
    """In the object store."""


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted, immutable set of changes of earlier commits."""

    id: ObjectId
    place: RunLocation
    elements: int
    size: int
    """Total size of keys and records, in bytes."""


@dataclass(frozen=True, slots=True)
class Index:
    """Layered index, given by the ids of its parts. Equal indexes have equal content; different indexes may too."""

    metarange_id: MetarangeId
    runs: tuple[Run, ...] = ()
    """Newest first."""
    inline: bytes = b""
    """Elements in the encoding of `codec.elements`: the changes of this commit, and those of earlier commits that are
    in no run.
    """
    own_run: bool = False
    """True if the changes of this commit did not fit into the inline index. They are then the first run."""
