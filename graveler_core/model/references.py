"""Events of references, as records: pending events, events in the log, and the position of the log.

The id of an event consists of its time, the uid of the reference and its step. A process that supplies a missing event
again therefore gives it the same id, and no event is logged twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import NoReturn

from graveler_core.errors import CorruptData
from graveler_core.model import past
from graveler_core.model.entities import BranchRecord, Record, Tag
from graveler_core.model.ids import CommitId, Nonce

_LATEST = (1 << 64) - 1
_ID = re.compile(r"[0-9a-f]{16}-[A-Za-z0-9-]+")


class ReferenceType(StrEnum):
    """Type of a reference."""

    BRANCH = "branch"
    TAG = "tag"
    SETTING = "setting"
    """Setting of the repository. Its events have no commits."""


class EventKind(StrEnum):
    """Kind of an event."""

    CREATED = "created"
    DELETED = "deleted"
    ASSIGNED = "assigned"
    """Set by a hard reset of a branch, an assignment of a tag, or a change of the settings or the retention rules."""
    MOVED = "moved"
    """Moved by a commit, merge, transaction or replay. Only the newest moves are known, and they are never logged."""


class ReferenceEvent(Record):
    """Event of a reference. Until a deletion is logged, its event states only the intention."""

    time: datetime
    kind: EventKind
    type: ReferenceType
    name: str
    uid: str
    """Uid of the reference. Another reference may get the same name later."""
    step: str
    """Distinguishes the events of one reference: the number of the step, or the nonce of the deleted record."""
    before: CommitId | None = None
    after: CommitId | None = None
    past: str = ""
    """History in the record after the event, or before a deletion."""
    by: str = ""
    message: str = ""

    @property
    def id(self) -> str:
        """Sort key that orders newer events first."""
        return f"{_LATEST - past.microseconds(self.time):016x}-{self.uid}-{self.step}"

    @property
    def reference(self) -> tuple[ReferenceType, str, str]:
        """Type, name and uid of the reference. Tags that earlier versions created on one commit share a uid."""
        return self.type, self.name, self.uid

    def earlier(self) -> Iterator[ReferenceEvent]:
        """Yield the events in the stored history, newest first. This event is among them if it is a step.

        Raises:
            CorruptData: The history is damaged.
        """
        head = self.before if self.kind is EventKind.DELETED else self.after
        return _steps(self.reference, self.past, head)


class InternalReference(Record):
    """Internal reference, moved by compare-and-swap like a branch and never displayed."""

    commit_id: CommitId
    nonce: Nonce


class FormerHead(Record):
    """Commit that a branch or tag has left in a way that its new commit need not lead to. The key contains its id."""

    since: datetime
    """Time at which a flow was about to move or delete the reference, or at which a collection adopted the commit."""


_KINDS = {past.CREATED: EventKind.CREATED, past.MOVED: EventKind.MOVED, past.ASSIGNED: EventKind.ASSIGNED}


def is_event_id(text: str) -> bool:
    """Return true if a text has the form of an event id."""
    return isinstance(text, str) and bool(_ID.fullmatch(text))


def uid_of(reference: BranchRecord | Tag) -> str:
    """Return the unique id of a reference. It differs after the reference is deleted and created again.

    For a tag, the id consists of the time of its creation and the commit that it named then.
    """
    if isinstance(reference, BranchRecord):
        return reference.uid
    steps = past.steps(reference.past, f"tag {reference.id}")
    created = past.microseconds(steps[-1].time) if steps and steps[-1].mark == past.CREATED else 0
    return f"{created:x}-{(steps[-1].commit if steps else reference.commit_id)[:32]}"


def steps_of(reference: BranchRecord | Tag) -> Iterator[ReferenceEvent]:
    """Yield the events in the history of a reference's record, newest first.

    Raises:
        CorruptData: The history is damaged.
    """
    kind = ReferenceType.BRANCH if isinstance(reference, BranchRecord) else ReferenceType.TAG
    return _steps((kind, reference.id, uid_of(reference)), reference.past, reference.commit_id)


def step_of_deletion(reference: BranchRecord | Tag) -> str:
    """Return the step that identifies the deletion of exactly this record."""
    if isinstance(reference, BranchRecord):
        return f"of-{reference.nonce}"
    moves = past.moves(reference.past)
    return f"of-{moves}" if moves else "of-"


def deletion(reference: BranchRecord | Tag, time: datetime, by: str = "", message: str = "") -> ReferenceEvent:
    """Return the event of deleting exactly this record."""
    is_branch = isinstance(reference, BranchRecord)
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


def refuse_damaged_event(damage: CorruptData) -> NoReturn:
    """Raise the error of a pending event that cannot be read. It names the command that removes the event."""
    raise CorruptData(
        f"{damage.message}; `graveler reflog --mend` (mend_reflog) removes this event",
        kind=damage.kind,
        **damage.details,
    ) from damage
