"""Pure function that decides whether a branch should be compacted, with the reasons. Source: seed 004, `Sensor`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from graveler_core.model.clock import to_the_second
from graveler_core.model.compaction import Thresholds

FEW = 1_000
"""Number of staged records up to which their age does not matter."""
RELIEF = 0.5
"""Fraction of a threshold below which a branch that was over its thresholds counts as relieved."""


@dataclass(frozen=True, slots=True)
class Load:
    """Staged changes of a branch, according to the counters."""

    tombstones: int = 0
    staged: int = 0
    """Number of records, tombstones included."""
    layers: int = 0
    """Number of sealed layers."""
    age: timedelta = timedelta(0)
    """Time since the oldest record was staged."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """Staged changes of a branch in relation to its thresholds."""

    value: float
    """Largest ratio of a number to its threshold. 1 or more is over pressure."""
    over: bool
    reasons: tuple[str, ...]
    """Exceeded thresholds, the largest ratio first."""


def pressure(load: Load, thresholds: Thresholds, *, was_over: bool = False) -> Pressure:
    """Compare staged changes with thresholds.

    Args:
        load: The staged changes.
        thresholds: The thresholds of the branch.
        was_over: True if the branch was over pressure at the last check.
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
