"""A daily table made by hand, and published past Dagster: what a commit from elsewhere looks like."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date

import polars as pl

from graveler_core.facade.repository import Repository

MONTH = "2013-02"


def publish_by_hand(repository: Repository, delays: Sequence[float]) -> str:
    """One day an entry of `delays`, the mean departure delay in minutes; gives the commit's id."""
    days = [date(2013, 2, day) for day in range(1, len(delays) + 1)]
    table = pl.DataFrame(
        {
            "origin": ["JFK"] * len(days),
            "flight_date": days,
            "flights": [1] * len(days),
            "dep_delay_mean": list(delays),
            "precip_sum": [0.0] * len(days),
            "wind_max": [5.0] * len(days),
        }
    )
    content = io.BytesIO()
    table.write_parquet(content)
    main = repository.branch("main")
    main.put(f"daily_delays/flight_month={MONTH}/part-00000.parquet", content.getvalue())
    return main.commit("by hand").id
