"""Retention rules of a repository: the number of days for which the content of old commits is kept.

See `gc.retention` for the commits that a rule keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.counting import counted
from graveler_core.model.entities import Record
from graveler_core.model.ids import BranchId, Nonce
from graveler_core.model.limit import require_limit
from graveler_core.model.protection import MAX_RULES, require_pattern

MAX_DAYS = 36_500
"""Maximum number of days of a rule."""
REMEMBERED_RULES = 100
"""Number of former versions of the rules that are kept, if they fit into `MAX_BYTES`."""
MAX_BYTES = 64 * 1024
"""Maximum size of the record of rules with former versions, in bytes. The oldest versions are dropped first."""

Days = int | None
"""Number of days, or `None`: for ever."""


class RetentionRules(BaseModel):
    """Retention rules of a repository, and their last change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    days: Days = None
    """Days for branches that no pattern matches, and for commits that no branch reaches. `None` means for ever."""
    branches: dict[str, Days] = Field(default_factory=dict)
    """Days by pattern of branch names, in order of the patterns. If several patterns match, the longest time counts."""
    version: int = Field(default=0, ge=0)
    """Number of changes of the rules. 0 means that no rules were ever set."""
    since: datetime | None = None
    """Time of the last change."""
    by: str = ""
    """User who made the last change. Empty without access control."""

    @property
    def expires(self) -> bool:
        """True if a rule limits the time."""
        return any(days is not None for days in (self.days, *self.branches.values()))

    def of(self, branch: BranchId) -> tuple[Days, str]:
        """Return the days for which the history of a branch is kept, and a description of the rule that says so."""
        matching = [(days, pattern) for pattern, days in self.branches.items() if fnmatchcase(branch, pattern)]
        if not matching:
            return self.days, self.default_rule
        days, pattern = max(matching, key=lambda rule: float("inf") if rule[0] is None else rule[0])
        return days, f"rule {pattern!r}: {_duration(days)}"

    @property
    def default_rule(self) -> str:
        """Description of the default rule."""
        return f"default rule: {_duration(self.days)}"


class Retention(Record):
    """Retention rules of a repository, with their former versions. Every change is a swap with a fresh nonce."""

    rules: RetentionRules
    past: tuple[RetentionRules, ...] = ()
    """Former versions, newest first."""
    nonce: Nonce


def retention_rules(days: Days, branches: Mapping[str, Days]) -> RetentionRules:
    """Check and build retention rules.

    Args:
        days: Days of the default rule. `None` means for ever.
        branches: Days by pattern of branch names.

    Returns:
        The rules, without version.

    Raises:
        InvalidInput: A number of days or a pattern is not valid.
        LimitExceeded: (`TooManyItems`) There are too many patterns.
    """
    if not isinstance(branches, Mapping):
        raise InvalidInput(f"retention: branches {branches!r} must be a mapping of patterns to days")
    require_limit("retention", len(branches), MAX_RULES, "patterns", Kind.TooManyItems)
    for pattern in branches:
        require_pattern(pattern)
    _require_days("default rule", days)
    for pattern, limit in branches.items():
        _require_days(f"pattern {pattern!r}", limit)
    return RetentionRules(days=days, branches=dict(sorted(branches.items())))


def _require_days(name: str, days: Days) -> None:
    if days is None:
        return
    if not isinstance(days, int) or isinstance(days, bool) or not 0 <= days <= MAX_DAYS:
        raise InvalidInput(
            f"retention: {name}: {days!r} must be a number of days from 0 to {MAX_DAYS}, or None (for ever)"
        )


def _duration(days: Days) -> str:
    return "for ever" if days is None else counted(days, "day")
