"""The pressure on a repository as Dagster keeps it: metadata of the asset `<repository>/pressure`, and its history.

The history is the asset's own events: whoever measures, an hourly run or a compaction, adds to it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.display.pressure import pressure_plot, pressure_table

if TYPE_CHECKING:
    from graveler_core.engine.pressure import BranchPressure
    from graveler_core.facade.graveler import Graveler

SURVEYED = 1_000
"""Branches of a repository that are looked at, in order of their names."""
REMEMBERED = 200
"""Events of the asset that its plot shows."""
NOW, BEFORE = "pressure", "pressure before"
"""Metadata: the highest pressure on a branch; and what a compaction found, if one did this."""


def pressure_key(repository: str) -> dg.AssetKey:
    """The asset that stands for the pressure on a repository."""
    return dg.AssetKey([repository, "pressure"])


def surveyed(graveler: Graveler, repository: str) -> list[BranchPressure]:
    """The branches of a repository that have counters, at most `SURVEYED`."""
    return list(graveler.pressures(f"{repository}/", limit=SURVEYED))


def measured(
    instance: dg.DagsterInstance, repository: str, branches: list[BranchPressure], before: float | None = None
) -> dict[str, Any]:
    """Metadata of one measurement: numbers that Dagster plots, a table, the history.

    Args:
        branches: What was surveyed.
        before: The pressure that a compaction has just taken away.
    """
    highest = max((item.pressure.value for item in branches), default=0.0)
    now = datetime.now(UTC)
    points = [*history(instance, repository), *([] if before is None else [(now, before)]), (now, highest)]
    return {
        NOW: highest,
        **({} if before is None else {BEFORE: before}),
        "branches counted": len(branches),
        "branches over pressure": sum(item.pressure.over for item in branches),
        "tombstones": sum(item.load.tombstones for item in branches),
        "staged records": sum(item.load.staged for item in branches),
        "layers": sum(item.load.layers for item in branches),
        "branches": dg.MetadataValue.md(pressure_table(branches)),
        "history": pressure_plot(points),
    }


def history(instance: dg.DagsterInstance, repository: str) -> list[tuple[datetime, float]]:
    """What was measured earlier, oldest first."""
    points: list[tuple[datetime, float]] = []
    for record in reversed(instance.fetch_materializations(pressure_key(repository), limit=REMEMBERED).records):
        event = record.asset_materialization
        at = datetime.fromtimestamp(record.timestamp, UTC)
        for name in (BEFORE, NOW):
            value = event.metadata[name].value if event is not None and name in event.metadata else None
            if isinstance(value, float):
                points.append((at, value))
    return points
