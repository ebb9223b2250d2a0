"""Events of references, as records: what waits to be logged, what the log holds, and where the log stands.

An event is known by an id that says all that makes it one: its time, the reference (by uid) and its step. So whoever
supplies an event that was lost gives it the id it had, and no event is logged twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from graveler_core.model import past
from graveler_core.model.entities import Branch, Record, Tag
from graveler_core.model.ids import CommitId, Nonce

_LATEST = (1 << 64) - 1
_ID = re.compile(r"[0-9a-f]{16}-[A-Za-z0-9-]+")


class ReferenceType(StrEnum):
    """What bears a name."""

    BRANCH = "branch"
    TAG = "tag"


class EventKind(StrEnum):
    """What happened to a reference."""

    CREATED = "created"
    DELETED = "deleted"
    ASSIGNED = "assigned"
    """Set to a commit by name: a hard reset."""
    MOVED = "moved"
    """By a commit, merge, transaction or replay. Known of the newest moves only, and never logged."""


class ReferenceEvent(Record):
    """Something that happened to a reference; for `deleted`, until it is logged, something that was about to."""

    time: datetime
    kind: EventKind
    type: ReferenceType
    name: str
    uid: str
    """Of the reference: a name may be given again."""
    step: str
    """What tells it from other events of the reference: the number of its step, or the nonce of what was deleted."""
    before: CommitId | None = None
    after: CommitId | None = None
    past: str = ""
    """What the record said of its own past after the event, or last."""
    by: str = ""
    message: str = ""

    @property
    def id(self) -> str:
        """Newer ones first, in the order of texts."""
        return f"{_LATEST - past.microseconds(self.time):016x}-{self.uid}-{self.step}"

    def earlier(self) -> Iterator[ReferenceEvent]:
        """What the past says, newest first: the event itself too, where it is a step. Raises `CorruptData`."""
        head = self.before if self.kind is EventKind.DELETED else self.after
        return _steps((self.type, self.name, self.uid), self.past, head)


class InternalReference(Record):
    """A reference of graveler itself, moved by compare-and-swap like a branch, and never shown."""

    commit_id: CommitId
    nonce: Nonce


_KINDS = {past.CREATED: EventKind.CREATED, past.MOVED: EventKind.MOVED, past.ASSIGNED: EventKind.ASSIGNED}


def is_event_id(text: str) -> bool:
    """Whether a text may be the id of an event."""
    return isinstance(text, str) and bool(_ID.fullmatch(text))


def uid_of(reference: Branch | Tag) -> str:
    """What tells a reference from others that bear or bore its name; of a tag, when it was created and where."""
    if isinstance(reference, Branch):
        return reference.uid
    created = next((past.microseconds(step.time) for step in past.steps(reference.past, f"tag {reference.id}")), 0)
    return f"{created:x}-{reference.commit_id[:32]}"


def steps_of(reference: Branch | Tag) -> Iterator[ReferenceEvent]:
    """What the record of a reference says of its past, newest first. Raises `CorruptData`."""
    kind = ReferenceType.BRANCH if isinstance(reference, Branch) else ReferenceType.TAG
    return _steps((kind, reference.id, uid_of(reference)), reference.past, reference.commit_id)


def step_of_deletion(reference: Branch | Tag) -> str:
    """What tells the deletion of exactly this record from others."""
    return f"of-{reference.nonce}" if isinstance(reference, Branch) else "of-"


def deletion(reference: Branch | Tag, time: datetime, by: str = "", message: str = "") -> ReferenceEvent:
    """The event of deleting exactly this record."""
    is_branch = isinstance(reference, Branch)
    return ReferenceEvent(
        time=time,
        kind=EventKind.DELETED,
        type=ReferenceType.BRANCH if is_branch else ReferenceType.TAG,
        name=reference.id,
        uid=uid_of(reference),
        step=step_of_deletion(reference),
        before=reference.commit_id,
        past=reference.past,
        by=by,
        message=message,
    )


def _steps(of: tuple[ReferenceType, str, str], said: str, head: CommitId | None) -> Iterator[ReferenceEvent]:
    kind, name, uid = of
    for step in past.steps(said, f"{kind} {name}"):
        created = step.mark == past.CREATED
        yield ReferenceEvent(
            time=step.time,
            kind=_KINDS[step.mark],
            type=kind,
            name=name,
            uid=uid,
            step=str(step.number),
            before=None if created else step.commit,
            after=step.commit if created else head,
        )
        head = step.commit
