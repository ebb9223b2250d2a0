"""Plan of a cleaner, and its results."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import TypedDict

from graveler_core.errors import InvalidInput
from graveler_core.model.names import repository_id
from graveler_core.stores.registers import LATE


class PlanOptions(TypedDict, total=False):
    """Fields of a plan, as keywords."""

    undelete_within: timedelta
    late: timedelta
    building: timedelta
    keys_for: timedelta
    limit: int | None
    dry_run: bool
    repository: str | None
    uid: str | None


@dataclass(frozen=True, slots=True)
class CleaningPlan:
    """Permissions and limits of a cleaner. No guarantee depends on the times. If they are too short, users lose time to
    restore data, or leftovers remain.
    """

    undelete_within: timedelta = timedelta(days=7)
    """Time for which deleted repositories are kept and can be undeleted."""
    late: timedelta = LATE
    """Time after which no process writes according to an old record. Less only if no process uses the store."""
    building: timedelta = timedelta(hours=1)
    """Maximum duration of a bulk write. A layer that is not added to its branch within this time is taken from its
    builder.
    """
    keys_for: timedelta = timedelta(days=7)
    """Time for which idempotency keys are kept."""
    limit: int | None = None
    """Maximum number of items that one call examines."""
    dry_run: bool = False
    """True to report what would be removed, without removing anything."""
    repository: str | None = None
    """Limits the call to repositories that have or had this name."""
    uid: str | None = None
    """Limits the call to the deleted repository with this uid."""

    def __post_init__(self) -> None:
        for name in ("undelete_within", "late", "building", "keys_for"):
            if not isinstance(getattr(self, name), timedelta):
                raise InvalidInput(f"cleaning: {name} {getattr(self, name)!r} must be a timedelta")
            if getattr(self, name) < timedelta(0):
                raise InvalidInput(f"cleaning: {name} {getattr(self, name)} must not be negative")
        if self.limit is not None and self.limit < 0:
            raise InvalidInput(f"cleaning: limit {self.limit} must not be negative")
        if self.repository is not None:
            repository_id(self.repository)


MAX_FAILURES = 1_000
"""Maximum number of failures that are reported individually."""


@dataclass(slots=True)
class Cleaned:
    """Results of a cleaner: removed data, or data that it would remove, and skipped data."""

    dry_run: bool = False
    repositories: int = 0
    """Number of deleted repositories that were completely emptied."""
    deletions: int = 0
    """Number of interrupted creations and deletions that were completed. Their names are free now."""
    layers: int = 0
    """Number of staged layers that still contained data."""
    rows: int = 0
    """Number of rows of layers and deleted repositories in the key-value store. Unknown in a dry run."""
    files: int = 0
    """Number of files of layers. Unknown in a dry run."""
    records: int = 0
    """Number of cleanup records, and of histories of branches that do not exist."""
    keys: int = 0
    """Number of idempotency keys."""
    counters: int = 0
    claims: int = 0
    """Number of claims of storage namespaces without an owner."""
    waiting: int = 0
    """Number of deleted repositories that were skipped because they can still be restored or are being restored."""
    late: int = 0
    """Number of repositories and layers that were skipped because of possible late writes."""
    contested: int = 0
    """Number of items that were left to another process that worked on them."""
    failed: int = 0
    """Number of items that were left because of an error."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """First thousand failures: item and reason."""
    next: str | None = None
    """Token from which another call continues; `None` at the end."""

    def plus(self, later: Cleaned) -> Cleaned:
        """Return the combined results of this call and a later one that continued it."""
        counts = {
            each.name: getattr(self, each.name) + getattr(later, each.name)
            for each in fields(self)
            if each.name not in ("dry_run", "failures", "next")
        }
        failures = [*self.failures, *later.failures][:MAX_FAILURES]
        return replace(later, **counts, failures=failures)

    @property
    def rest(self) -> bool:
        """True if the limit was reached before the end."""
        return self.next is not None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Deleted repositories that wait for a cleaner."""

    deleted: int = 0
    """Number of repositories that can be undeleted until a cleaner takes them."""
    purging: int = 0
    """Number of repositories that a cleaner has begun to empty."""
    restoring: int = 0
    due: int = 0
    """Number of repositories that a cleaner would empty now, or continue to empty."""
    oldest: datetime | None = None
    """Time at which the repository that has waited longest entered its state."""
    unreadable: int = 0
    """Number of damaged entries."""
