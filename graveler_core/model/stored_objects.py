"""Objects of a repository in the key-value store, as programs read them. Source: seed 002, `Persist`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from graveler_core.model.entities import Commit, Layout


class ObjectType(StrEnum):
    """Type of an object, in the order of a scan."""

    COMMIT = "commit"
    LAYOUT = "layout"
    """Location of the content of a commit, with its index. Its id is that of the commit."""
    RUN = "run"
    """Part of the indexes of commits that does not fit into a layout."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Object of a repository, as it is stored."""

    type: ObjectType
    id: str
    size: int
    """Size of the stored value in bytes."""
    content: Commit | Layout | bytes
    """Decoded content: bytes for a run."""
    referenced: datetime | None = None
    """Time at which a flow last stored the run, or was about to refer to it. `None` for other types."""

    @property
    def key(self) -> str:
        """Type and id, separated by a slash."""
        return f"{self.type}/{self.id}"
