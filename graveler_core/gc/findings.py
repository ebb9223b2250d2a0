"""What a check of a repository finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """What is wrong."""

    MISSING = "missing"
    """Something names it, and it is not there."""
    CORRUPT = "corrupt"
    """It is there, and cannot be read, or is not what its id says."""
    INCONSISTENT = "inconsistent"
    """It is whole, and does not fit what names it."""
    UNREACHABLE = "unreachable"
    """No branch and no tag leads to it. No damage: it only takes room."""


class Thing(StrEnum):
    """What kind of thing it is about."""

    NAMESPACE = "namespace"
    """The claim of the storage namespace; the id is its URI."""
    BRANCH = "branch"
    TAG = "tag"
    REFERENCE_LOG = "reference log"
    """Where the log of references stands, or an event that is not in it yet; then the id is the event's."""
    COMMIT = "commit"
    """A commit's header."""
    LAYOUT = "layout"
    """Where a commit's content is; the id is the commit's."""
    NODE = "node"
    RANGE = "range"
    RUN = "run"
    LAYER = "layer"
    """A staged layer: a token, or files below `_graveler/staging/`."""
    OBJECT = "object"
    """An object of the key-value store that nothing names, so that it is not known what it is."""
    BLOB = "blob"
    """The same in the storage namespace; the id is its address."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    trouble: Trouble
    thing: Thing
    id: str
    why: str
    """In words."""
    named_by: str = ""
    """One thing that names it, "" where nothing does."""
    size: int | None = None
    """Bytes, where they are known."""

    @property
    def damage(self) -> bool:
        """Whether something is lost, rather than left over."""
        return self.trouble is not Trouble.UNREACHABLE
