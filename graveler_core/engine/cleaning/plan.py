"""What a cleaner may do, and what it says that it did."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import TypedDict

from graveler_core.errors import InvalidInput
from graveler_core.model.names import repository_id


class PlanOptions(TypedDict, total=False):
    """The fields of a plan, as keywords."""

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
    """What a cleaner may do. No promise rests on the times: too short ones take from users, or leave things behind."""

    undelete_within: timedelta = timedelta(days=7)
    """Deleted repositories are left for so long: they can be restored."""
    late: timedelta = timedelta(minutes=10)
    """After so long nobody writes any more where an old record says. More than `stores.registers.KEPT` and the time
    budget of a write together."""
    building: timedelta = timedelta(hours=1)
    """The longest bulk write; a layer that has not entered its branch for so long is taken from its builder."""
    keys_for: timedelta = timedelta(days=7)
    """Idempotency keys are remembered for so long."""
    limit: int | None = None
    """Look at no more than so many things in one call."""
    dry_run: bool = False
    """Say what would be removed."""
    repository: str | None = None
    """Only what bears or bore this name."""
    uid: str | None = None
    """Only the deleted repository of this uid: nothing else, also under its name."""

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
"""How many failures are told one by one."""


@dataclass(slots=True)
class Cleaned:
    """What a cleaner removed, or would remove, and what it left."""

    dry_run: bool = False
    repositories: int = 0
    """Deleted repositories of which nothing is left."""
    deletions: int = 0
    """Creations and deletions that had stopped half-way: their names are free now."""
    layers: int = 0
    """Staged layers that still held something."""
    rows: int = 0
    """Rows that layers and deleted repositories held in the key-value store. Not known in a dry run."""
    files: int = 0
    """Files of layers. Not known in a dry run."""
    records: int = 0
    """Cleanup records, and histories of branches that are gone."""
    keys: int = 0
    """Idempotency keys."""
    counters: int = 0
    claims: int = 0
    """Storage namespaces that nobody owned."""
    waiting: int = 0
    """Deleted repositories left, for they can still be restored, or are being restored."""
    late: int = 0
    """Repositories and layers left, for somebody may still be writing to them."""
    contested: int = 0
    """Left to somebody who was at work on the same thing."""
    failed: int = 0
    """Things left for something failed."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """The first thousand of them: what, and why."""
    next: str | None = None
    """From where another call goes on; None at the end."""

    def plus(self, later: Cleaned) -> Cleaned:
        """This call, and a later one that went on from it, as one."""
        counts = {
            each.name: getattr(self, each.name) + getattr(later, each.name)
            for each in fields(self)
            if each.name not in ("dry_run", "failures", "next")
        }
        failures = [*self.failures, *later.failures][:MAX_FAILURES]
        return replace(later, **counts, failures=failures)

    @property
    def rest(self) -> bool:
        """Whether the limit was reached before the end."""
        return self.next is not None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Deleted repositories that wait for a cleaner."""

    deleted: int = 0
    """They can be restored until a cleaner takes them."""
    purging: int = 0
    """A cleaner has begun with them."""
    restoring: int = 0
    due: int = 0
    """A cleaner would empty them now, or go on with it."""
    oldest: datetime | None = None
    """When the one that has waited for longest entered its state."""
    unreadable: int = 0
    """Damaged entries."""
