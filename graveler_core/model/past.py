"""What a reference's record remembers of itself: when and where it began, and its newest moves. Source: seed 002.

One short text, since every write reads the record and nobody but a reflog looks into it: steps, newest first, with
commas between. A step is its number, a mark, when (microseconds since 1970, hexadecimal), a colon and a commit:

    +   created, number 0: the commit that it began at
    >   moved by a commit, merge, transaction, replay: the commit that it left
    =   assigned, which is a hard reset: the commit that it left

The newest eight moves stay, and the creation. Numbers count all moves of a reference from 1, so of two texts of one
reference the later one begins with the larger number.
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
class Step:
    """One step of a reference."""

    number: int
    mark: str
    time: datetime
    commit: CommitId


def begun(commit: CommitId, time: datetime) -> str:
    """The past of a new reference."""
    return _step(0, CREATED, time, commit)


def moved(past: str, left: CommitId, time: datetime, *, assigned: bool) -> str:
    """The past of a reference that leaves a commit, as its record is about to say."""
    kept = past.split(",") if past else []
    created = kept.pop() if kept and CREATED in kept[-1] else None
    newest = _step(moves(past) + 1, ASSIGNED if assigned else MOVED, time, left)
    kept = [newest, *kept[: MOST_MOVES - 1]]
    return ",".join(kept if created is None else [*kept, created])


def steps(past: str, name: str) -> list[Step]:
    """The steps, newest first.

    Args:
        name: What to call the reference in an error.

    Raises:
        CorruptData: the text is no past.
    """
    found = []
    for text in past.split(",") if past else []:
        match = _STEP.fullmatch(text)
        if match is None:
            raise CorruptData(f"{name}: what its record says of its past is damaged at {text[:40]!r}", name=name)
        number, mark, time, commit = match.groups()
        found.append(Step(int(number), mark, moment(int(time, 16)), CommitId(commit)))
    return found


def moves(past: str) -> int:
    """How often the reference has moved, as far as it was counted."""
    number = re.match("[0-9]+", past)
    return int(number[0]) if number else 0


def microseconds(time: datetime) -> int:
    """Since 1970, in UTC."""
    return (time - _EPOCH) // _MICROSECOND


def moment(since: int) -> datetime:
    """The time so many microseconds after the beginning of 1970."""
    return _EPOCH + since * _MICROSECOND


def _step(number: int, mark: str, time: datetime, commit: CommitId) -> str:
    return f"{number}{mark}{microseconds(time):x}:{commit}"
