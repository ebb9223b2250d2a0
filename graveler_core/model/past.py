"""History of a reference in its own record: its creation and its newest moves. Source: seed 002.

The history is one short text, because every write reads the record and only the reflog needs the history. It is a list
of steps, newest first, separated by commas. A step consists of its number, a mark, a time (microseconds since 1970,
hexadecimal), a colon and a commit:

    +   created, number 0: the commit at which it began
    >   moved by a commit, merge, transaction or replay: the commit that it left
    =   assigned by a hard reset: the commit that it left

The newest eight moves and the creation are kept. Numbers count all moves of a reference from 1, so the later of two
texts of one reference begins with the larger number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graveler_core.errors import CorruptData
from graveler_core.model.ids import CommitId

MOST_MOVES = 8
CREATED, MOVED, ASSIGNED = "+", ">", "="
_STEP = re.compile(r"([0-9]+)([+>=])([0-9a-f]+):([^,:]+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PastStep:
    """One step in the history of a reference."""

    number: int
    mark: str
    time: datetime
    commit: CommitId


def begun(commit: CommitId, time: datetime) -> str:
    """Return the history of a new reference."""
    return _step(0, CREATED, time, commit)


def moved(past: str, left: CommitId, time: datetime, *, assigned: bool) -> str:
    """Return the history of a reference that is about to leave a commit."""
    kept = past.split(",") if past else []
    created = kept.pop() if kept and CREATED in kept[-1] else None
    newest = _step(moves(past) + 1, ASSIGNED if assigned else MOVED, time, left)
    kept = [newest, *kept[: MOST_MOVES - 1]]
    return ",".join(kept if created is None else [*kept, created])


def created(past: str) -> str:
    """Return the history without its moves: the creation, if it is known."""
    first = past.rpartition(",")[2]
    return first if CREATED in first else ""


def steps(past: str, name: str) -> list[PastStep]:
    """Parse a history.

    Args:
        past: The history, as stored.
        name: Name of the reference, for the error message.

    Returns:
        The steps, newest first.

    Raises:
        CorruptData: The text is not a valid history.
    """
    found = []
    for text in past.split(",") if past else []:
        match = _STEP.fullmatch(text)
        if match is None:
            raise CorruptData(f"{name}: the history in its record is damaged at {text[:40]!r}", name=name)
        number, mark, time, commit = match.groups()
        found.append(PastStep(int(number), mark, moment(int(time, 16)), CommitId(commit)))
    return found


def moves(past: str) -> int:
    """Return the number of moves of the reference."""
    number = re.match("[0-9]+", past)
    return int(number[0]) if number else 0


def microseconds(time: datetime) -> int:
    """Return the microseconds from 1970 to a time, in UTC."""
    return (time - _EPOCH) // _MICROSECOND


def moment(since: int) -> datetime:
    """Return the time that is a number of microseconds after the beginning of 1970."""
    return _EPOCH + since * _MICROSECOND


def _step(number: int, mark: str, time: datetime, commit: CommitId) -> str:
    return f"{number}{mark}{microseconds(time):x}:{commit}"
