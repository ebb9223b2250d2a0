"""Plots: pictures inside markdown, so that they need no file server."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def delays_plot(daily: pl.DataFrame) -> dg.MarkdownMetadataValue:
    """Mean departure delay by day, one line an airport.

    Args:
        daily: Columns origin, flight_date, dep_delay_mean (minutes).
    """
    from matplotlib.figure import Figure

    # A Figure of its own, without pyplot: no global state, no display, safe in threads.
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for (origin,), rows in daily.sort("origin", "flight_date").group_by("origin", maintain_order=True):
        axes.plot(rows["flight_date"].to_list(), rows["dep_delay_mean"].to_list(), label=str(origin), linewidth=0.9)
    axes.set_ylabel("mean departure delay, minutes")
    axes.grid(alpha=0.3)
    if daily.height:
        axes.legend(ncols=3, frameon=False)
    return in_markdown(figure, "daily departure delays by airport")


def in_markdown(figure: Figure, description: str) -> dg.MarkdownMetadataValue:
    """A figure as a picture that stands in the markdown itself.

    Args:
        description: Shown to those who cannot see the picture.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    encoded = base64.b64encode(picture.getvalue()).decode("ascii")
    return dg.MetadataValue.md(f"![{description}](data:image/png;base64,{encoded})")
