"""Whether a branch should be compacted, and why: a pure function of what is staged. Source: seed 004, `Sensor`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from graveler_core.model.clock import to_the_second
from graveler_core.model.compaction import Thresholds

FEW = 1_000
"""So many staged records may be of any age."""
RELIEF = 0.5
"""A branch that was over its thresholds stays so until it is down to this part of them."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is staged on a branch, as far as it was counted."""

    tombstones: int = 0
    staged: int = 0
    """Records, tombstones included."""
    layers: int = 0
    """Sealed ones."""
    age: timedelta = timedelta(0)
    """Since the oldest record was staged."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """How near a branch is to its thresholds."""

    value: float
    """The largest part of a threshold that is reached: 1 and more is too much."""
    over: bool
    reasons: tuple[str, ...]
    """What brings it over, the worst first; empty where nothing does."""


def pressure(load: Load, thresholds: Thresholds, *, was_over: bool = False) -> Pressure:
    """Compare a load with thresholds.

    Args:
        was_over: The branch was over its thresholds when it was last looked at.
    """
    age = load.age if load.staged >= FEW else timedelta(0)
    parts = [
        (load.tombstones / thresholds.tombstones, f"{load.tombstones:,} tombstones of {thresholds.tombstones:,}"),
        (load.layers / thresholds.layers, f"{load.layers:,} layers of {thresholds.layers:,}"),
        (load.staged / thresholds.staged, f"{load.staged:,} staged records of {thresholds.staged:,}"),
        (age / thresholds.age, f"staged for {to_the_second(age)} of {to_the_second(thresholds.age)}"),
    ]
    parts.sort(key=lambda part: -part[0])
    value = parts[0][0]
    least = RELIEF if was_over else 1.0
    reasons = tuple(reason for part, reason in parts if part >= least)
    return Pressure(value, bool(reasons), reasons)
