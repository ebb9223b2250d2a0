"""Plot of the flights pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.display.plot import in_markdown

if TYPE_CHECKING:
    import polars as pl


def delays_plot(daily: pl.DataFrame) -> dg.MarkdownMetadataValue:
    """Plot the mean departure delay by day, with one line for each airport.

    Args:
        daily: Table with the columns origin, flight_date and dep_delay_mean (minutes).
    """
    from matplotlib.figure import Figure

    # A Figure without pyplot has no global state, needs no display, and is safe in threads.
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for (origin,), rows in daily.sort("origin", "flight_date").group_by("origin", maintain_order=True):
        axes.plot(rows["flight_date"].to_list(), rows["dep_delay_mean"].to_list(), label=str(origin), linewidth=0.9)
    axes.set_ylabel("mean departure delay, minutes")
    axes.grid(alpha=0.3)
    if daily.height:
        axes.legend(ncols=3, frameon=False)
    return in_markdown(figure, "daily departure delays by airport")
