"""Compaction pressure for the Dagster UI: a table of branches, and a plot over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.display.diff import escaped
from dagster_graveler.display.plot import in_markdown
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure

SHOWN = 50


def pressure_table(branches: Iterable[BranchPressure]) -> str:
    """Return the branches with the highest pressure as a markdown table."""
    ordered = sorted(branches, key=lambda item: -item.pressure.value)
    if not ordered:
        return "No branch has counters, so few changes are staged."
    lines = [
        "| branch | pressure | tombstones | staged | layers | oldest | over |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    lines += [_row(item) for item in ordered[:SHOWN]]
    if len(ordered) > SHOWN:
        lines.append(f"\n{counted(len(ordered) - SHOWN, 'more branch', 'more branches')} with lower pressure.")
    return "\n".join(lines)


def pressure_plot(points: Sequence[tuple[datetime, float]]) -> dg.MarkdownMetadataValue:
    """Plot the highest pressure over time, with a line at the value above which branches are compacted.

    Args:
        points: Measurements in order of time. A compaction adds two at the same time, before and after.
    """
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(
        np.array([int(at.timestamp()) for at, _ in points], "datetime64[s]"),
        [value for _, value in points],
        marker="o",
        markersize=3,
        linewidth=0.9,
    )
    axes.axhline(1.0, color="tab:red", linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("highest pressure")
    axes.grid(alpha=0.3)
    return in_markdown(figure, "highest pressure on a branch over time")


def _row(item: BranchPressure) -> str:
    from graveler_core.model.clock import to_the_second

    load, oldest = item.load, to_the_second(item.load.age)
    why = "; ".join(item.pressure.reasons)
    return (
        f"| {escaped(item.branch.id)} | {item.pressure.value:.0%} | {load.tombstones:,} | {load.staged:,} "
        f"| {load.layers} | {oldest} | {escaped(why)} |"
    )
