"""Options of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from graveler_core.errors import InvalidInput
from graveler_core.gc.sweep import GRACE, LEAST_GRACE
from graveler_core.model.retention import RetentionRules


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """Options of a collection."""

    grace: timedelta = GRACE
    dry_run: bool = False
    """Only report what would be condemned or deleted."""
    alone: bool = False
    """True asserts that no other process works on the repository. Any grace period is then allowed."""
    foreign: bool = False
    """Also collect objects in the namespace that graveler has not created."""
    inventory: str | None = None
    """URI of an inventory that is read instead of a listing (`blobs.inventory`)."""
    rules: RetentionRules | None = None
    """Retention rules to apply in a dry run. `None` means those of the repository."""

    def __post_init__(self) -> None:
        if not isinstance(self.grace, timedelta):
            raise InvalidInput(f"collect: grace {self.grace!r} must be a timedelta")
        if self.grace < timedelta(0):
            raise InvalidInput(f"collect: grace {self.grace} must not be negative")
        if self.rules is not None and not self.dry_run:
            raise InvalidInput("collect: other rules than those of the repository can only be applied in a dry run")
        if self.grace < LEAST_GRACE and not self.alone:
            raise InvalidInput(
                f"collect: grace {self.grace} is shorter than {LEAST_GRACE}, so other processes may be about to stage "
                "content that nothing names yet; set alone if no other process uses the repository"
            )
