"""Outcome of a flow, for logs and spans.

Errors that the caller can fix or must decide are not faults: not found, nothing to commit, a conflict, invalid input,
no permission. They are logged, but should not raise alarms.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from graveler_core.errors import CorruptData, GravelerError, Kind, OutcomeUnknown, SlowDown, Unavailable

LONG = 1.0
"""Duration in seconds from which on every flow is logged at level INFO."""


@dataclass(frozen=True, slots=True)
class FlowOutcome:
    """Outcome of a flow."""

    kind: str = "ok"
    """`ok`, the kind of a `GravelerError`, or the class name of any other error."""
    level: int = logging.DEBUG
    fault: bool = False
    """True if the span has the status of an error."""


OK = FlowOutcome()


def outcome_of(error: BaseException) -> FlowOutcome:
    """Return the outcome of a flow that raised an error."""
    match error:
        case GravelerError(kind=Kind.CompactionUnderWay):
            return FlowOutcome(str(error.kind), logging.INFO)
        case SlowDown() | OutcomeUnknown():
            return FlowOutcome(str(error.kind), logging.WARNING, fault=True)
        case Unavailable() | CorruptData():
            return FlowOutcome(str(error.kind), logging.ERROR, fault=True)
        case GravelerError():
            return FlowOutcome(str(error.kind), logging.INFO)
        case Exception():
            return FlowOutcome(type(error).__name__, logging.ERROR, fault=True)
    return FlowOutcome(type(error).__name__, logging.INFO)
