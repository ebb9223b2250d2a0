"""What the doctor says of one thing that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much it matters."""

    CRITICAL = "critical"
    """Something is lost, cannot be read, or may be lost."""
    WARNING = "warning"
    """It is slow, or will be refused soon."""
    NOTICE = "notice"
    """It only takes room."""


class Ailment(StrEnum):
    """What is wrong. Append-only: scripts go by it."""

    STORE_ON_NETWORK = "store-on-network"
    STORE_WITHOUT_WAL = "store-without-wal"
    STORE_NOT_DURABLE = "store-not-durable"
    CLOCKS_DIFFER = "clocks-differ"
    REPOSITORY_HALF_MADE = "repository-half-made"
    DELETED_DUE = "deleted-due"
    NAMESPACE_UNOWNED = "namespace-unowned"
    NAMESPACE_UNREADABLE = "namespace-unreadable"
    RECORD_DAMAGED = "record-damaged"
    BRANCH_LAYERS = "branch-layers"
    BRANCH_PRESSURE = "branch-pressure"
    LAYERS_LEFT = "layers-left"
    KEYS_OLD = "keys-old"
    UPLOADS_LEFT = "uploads-left"
    REFERENCE_LOG_DAMAGED = "reference-log-damaged"
    HEAD_DAMAGED = "head-damaged"
    COUNTERS_OFF = "counters-off"
    CONTENT_DAMAGED = "content-damaged"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong."""

    ailment: Ailment
    severity: Severity
    where: str
    """A URI graveler://…, or what the store calls itself."""
    what: str
    why: str
    """Why it matters."""
    remedy: str
    """What mends it, in words."""
    command: tuple[str, ...] = ()
    """The words of a command line that does; none where no command can."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination found."""

    found: tuple[Diagnosis, ...]
    """The worst first."""
    unseen: tuple[tuple[str, str], ...]
    """What could not be looked at, or not to its end, and why."""

    @property
    def healthy(self) -> bool:
        """Whether all was looked at, and nothing is wrong."""
        return not self.found and not self.unseen
