"""One call of a user: when it ran, how it ended, what it wrote. And the ways a call ends without success."""

from __future__ import annotations

from enum import Enum

from tests.proofs.model.state import Commit, Value

NEVER = 1 << 30
"""The end of a call that did not succeed: what it wrote may appear at any later time."""


class Outcome(Enum):
    """What the caller was told."""

    OPEN = "crashed"
    DONE = "done"
    NOT_FOUND = "not found"
    NO_CHANGES = "no changes"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Ended(Exception):
    """A call ends without success."""

    outcome = Outcome.REFUSED


class NotFound(Ended):
    """There is no such repository or branch."""

    outcome = Outcome.NOT_FOUND


class Refused(Ended):
    """A conflict, a dirty branch, or attempts spent: nothing happened."""


class Made(Ended):
    """A call finds the commit that a former call under its key made: success."""

    outcome = Outcome.DONE


class NoChanges(Ended):
    """A commit has nothing to commit."""

    outcome = Outcome.NO_CHANGES


class Unknown(Ended):
    """It may have happened."""

    outcome = Outcome.UNKNOWN


class Lost(Exception):
    """The answer of a swap was lost."""


class Operation:
    """One call: its interval in steps, its outcome, and what it wrote (known once it may be seen)."""

    __slots__ = ("commit", "crash_at", "end", "key", "kind", "lost_at", "outcome", "start", "told", "writes")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.start = -1
        self.end = NEVER
        """The last step of a call that succeeded."""
        self.told = NEVER
        """When its caller was told how it ended."""
        self.outcome = Outcome.OPEN
        self.writes: dict[str, Value | bool] | None = None
        self.commit: Commit | None = None
        self.key = ""
        self.crash_at = 0
        self.lost_at = 0

    def __repr__(self) -> str:
        end = "" if self.end == NEVER else self.end
        return f"{self.kind} [{self.start}, {end}] {self.outcome.value} {self.writes or ''}"
