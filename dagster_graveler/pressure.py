"""Metadata and history of the asset `<repository>/pressure`.

The history consists of the asset's own events: hourly measurements and compactions.
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.display.pressure import pressure_plot, pressure_table

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.facade.graveler import Graveler

SURVEYED = 1_000
"""Maximum number of branches of a repository that are measured, in the order of their names."""
REMEMBERED = 200
"""Number of events in the plot of the asset."""
NOW, BEFORE = "pressure", "pressure before"
"""Metadata keys: the highest pressure of a branch, and the pressure before a compaction."""


def pressure_key(repository: str) -> dg.AssetKey:
    """Return the key of the asset for a repository."""
    return dg.AssetKey([repository, "pressure"])


def surveyed(graveler: Graveler, repository: str) -> list[BranchPressure]:
    """Return the branches of a repository that have counters, at most `SURVEYED`."""
    return list(graveler.pressures(f"{repository}/", limit=SURVEYED))


def measured(
    instance: dg.DagsterInstance, repository: str, branches: list[BranchPressure], before: float | None = None
) -> dict[str, Any]:
    """Return the metadata of one measurement: numbers that Dagster plots, a table, and a plot of the history.

    The plot is left out if matplotlib is not installed.

    Args:
        instance: Dagster instance with the history.
        repository: Name of the repository.
        branches: The measured branches.
        before: Pressure before the compaction that triggered this measurement.
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
        **({"history": pressure_plot(points)} if find_spec("matplotlib") else {}),
    }


def history(instance: dg.DagsterInstance, repository: str) -> list[tuple[datetime, float]]:
    """Return earlier measurements, oldest first."""
    points: list[tuple[datetime, float]] = []
    for record in reversed(instance.fetch_materializations(pressure_key(repository), limit=REMEMBERED).records):
        event = record.asset_materialization
        at = datetime.fromtimestamp(record.timestamp, UTC)
        for name in (BEFORE, NOW):
            value = event.metadata[name].value if event is not None and name in event.metadata else None
            if isinstance(value, float):
                points.append((at, value))
    return points
