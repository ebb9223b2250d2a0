"""What actors did, when it began and ended, and what it came to: the evidence that the checker judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from graveler_core.errors import (
    Conflict,
    CorruptData,
    DirtyBranch,
    GravelerError,
    InvalidInput,
    NoChanges,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)
from graveler_core.model.entry import Entry
from graveler_core.model.ids import RepositoryId

NEVER = 1 << 60
AFTERWARDS = "afterwards"
"""Who acts when all others have ended."""
REPO = RepositoryId("repo")
Value = int | None
"""What a path holds: the number of the entry, or None for nothing."""
AGAIN = Entry(address="data/99", size=99, checksum="99")
"""What some stage time and again, byte for byte the same."""


class Outcome(Enum):
    """What an operation came to."""

    PENDING = "pending"
    """It has not ended: it runs, or it crashed. It may have happened, and may still."""
    DONE = "done"
    NOTHING = "nothing"
    """It did not happen, and said so."""
    UNKNOWN = "unknown"
    """It may have happened."""


REFUSALS = (NoChanges, Conflict, DirtyBranch, InvalidInput, NotFound, NotUnique, PermissionDenied)
"""Errors after which nothing was changed by the call that raised them."""


@dataclass(eq=False)
class Operation:
    """One call: its interval in steps, and its effect on paths."""

    kind: str
    actor: str
    start: int
    end: int = NEVER
    returned: int = NEVER
    """When the call came back, or its process crashed; what it sent may be under way still."""
    outcome: Outcome = Outcome.PENDING
    sets: Mapping[str, Value] = field(default_factory=dict)
    """What it surely gives each path, if it happened."""
    may_set: frozenset[tuple[str, Value]] = frozenset()
    """What it may give a path while its outcome is open (a merge whose commit nobody has seen)."""
    expected: Mapping[str, Value] = field(default_factory=dict)
    """What it insisted that the head held, or that the branch showed (`put if`)."""
    repository: RepositoryId = REPO
    mark: str = ""
    """What only this call writes into a commit or a repository, so that its work is known where it is found."""
    key: str = ""
    """Its idempotency key."""
    every: timedelta = timedelta(0)
    """How long ago another compaction must have begun."""
    discards: str | None = None
    """The prefix under which it throws staged changes away."""
    source: str = ""
    """The commit that it squashes: the commit that it makes does not say so."""
    answer: object = None
    error: GravelerError | None = None

    @property
    def may_have_happened(self) -> bool:
        return self.outcome is not Outcome.NOTHING

    def gives(self, path: str, value: Value) -> bool:
        """Whether it may be what gave a path a value."""
        return (path in self.sets and self.sets[path] == value) or (path, value) in self.may_set

    def throws_away(self, path: str) -> bool:
        return self.discards is not None and path.startswith(self.discards)

    def __str__(self) -> str:
        end = "…" if self.end == NEVER else str(self.end)
        effect = (
            f" sets {dict(self.sets)}"
            if self.sets
            else f" discards {self.discards!r}"
            if self.discards is not None
            else ""
        )
        told = (
            f" answered {self.answer!r}" if self.answer is not None else f" failed: {self.error}" if self.error else ""
        )
        return f"[{self.start}, {end}] {self.actor}: {self.kind}{effect} {self.outcome.value}{told}"


@dataclass
class History:
    """All operations of a run, in the order in which they began."""

    now: Callable[[], int]
    operations: list[Operation] = field(default_factory=list)

    @contextmanager
    def operation(self, kind: str, actor: str, **effect: object) -> Iterator[Operation]:
        """Record a call. What the block raises of graveler's errors is recorded, not raised on."""
        operation = Operation(kind, actor, self.now(), **effect)  # type: ignore[arg-type]
        self.operations.append(operation)
        try:
            yield operation
        except GravelerError as error:
            operation.error = error
            operation.outcome = _outcome(error)
            if operation.outcome is Outcome.NOTHING:
                operation.end = self.now()
            expected = isinstance(error, (*REFUSALS, OutcomeUnknown, SlowDown, Unavailable))
            if not expected and not (isinstance(error, CorruptData) and self._cleaned_during(operation)):
                raise
        else:
            operation.outcome = Outcome.DONE
            operation.end = self.now()
        finally:
            operation.returned = self.now()

    def _cleaned_during(self, operation: Operation) -> bool:
        """Whether a deleted repository may have been emptied meanwhile: cleaners wait for nobody here, as real ones do,
        so who has read a record of it may find half of what it leads to."""
        deleted = any(o.kind == "delete repository" and o.may_have_happened for o in self.operations)
        return deleted and any(o.kind == "clean" and o.returned > operation.start for o in self.operations)


def _outcome(error: GravelerError) -> Outcome:
    refused = isinstance(error, (*REFUSALS, SlowDown, Unavailable))
    return Outcome.NOTHING if refused else Outcome.UNKNOWN
