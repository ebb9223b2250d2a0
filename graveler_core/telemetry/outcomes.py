"""How a flow ended, as logs and spans say it.

What the caller can mend or must decide (not found, nothing to commit, a conflict, bad input, no permission) is an
answer, not a fault: it is told, and no alarm rests on it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from graveler_core.errors import CorruptData, GravelerError, Kind, OutcomeUnknown, SlowDown, Unavailable

LONG = 1.0
"""Seconds: a flow that takes longer is told at INFO, whatever it does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a flow."""

    kind: str = "ok"
    """`ok`, the kind of the error, or the class of one that nobody foresaw."""
    level: int = logging.DEBUG
    fault: bool = False
    """Whether the span is one of an error."""


OK = Outcome()


def outcome_of(error: BaseException) -> Outcome:
    """What an error says of its flow."""
    match error:
        case GravelerError(kind=Kind.CompactionUnderWay):
            return Outcome(str(error.kind), logging.INFO)
        case SlowDown() | OutcomeUnknown():
            return Outcome(str(error.kind), logging.WARNING, fault=True)
        case Unavailable() | CorruptData():
            return Outcome(str(error.kind), logging.ERROR, fault=True)
        case GravelerError():
            return Outcome(str(error.kind), logging.INFO)
        case Exception():
            return Outcome(type(error).__name__, logging.ERROR, fault=True)
    return Outcome(type(error).__name__, logging.INFO)
