"""Findings of a check of a repository."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """Kind of problem."""

    MISSING = "missing"
    """Another item refers to it, but it does not exist."""
    CORRUPT = "corrupt"
    """It exists, but cannot be read or does not match its id."""
    INCONSISTENT = "inconsistent"
    """It is intact, but contradicts an item that refers to it."""
    INCOMPLETE = "incomplete"
    """It was imported without indexes, so it cannot be read before it is completed."""
    UNREACHABLE = "unreachable"
    """No branch or tag reaches it. This is not damage; it only uses space."""
    UNVERIFIED = "unverified"
    """Its content could not be compared. This is not damage."""


class Thing(StrEnum):
    """Kind of resource that a finding is about."""

    REPOSITORY = "repository"
    NAMESPACE = "namespace"
    """Claim of the storage namespace; its id is the URI."""
    BRANCH = "branch"
    TAG = "tag"
    REFERENCE_LOG = "reference log"
    """Head of the log of references, or an event that is not yet in the log; its id is that of the event."""
    COMMIT = "commit"
    """Header of a commit."""
    LAYOUT = "layout"
    """Layout of a commit: the location of its content. Its id is that of the commit."""
    INDEX = "index"
    """Inline index in a layout; its id is that of the commit."""
    NODE = "node"
    RANGE = "range"
    RUN = "run"
    LAYER = "layer"
    """Staged layer: a staging token, or files below `_graveler/staging/`."""
    OBJECT = "object"
    """Unreachable object in the key-value store, of unknown kind."""
    CONTENT = "content"
    """Object with the content of a file; its id is its address, or the URI of the namespace if it stands for many."""
    BLOB = "blob"
    """Unreachable file in the storage namespace, of unknown kind; its id is its address."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem."""

    trouble: Trouble
    thing: Thing
    id: str
    why: str
    """Description of the problem."""
    named_by: str = ""
    """An item that refers to it; empty if there is none."""
    size: int | None = None
    """Size in bytes, if known."""
    path: str = ""
    """Path of an entry that refers to it, for content. `named_by` contains this entry."""

    @property
    def damage(self) -> bool:
        """True if data is lost or cannot be read; false if data is only left over or not verified."""
        return self.trouble not in (Trouble.UNREACHABLE, Trouble.UNVERIFIED)
