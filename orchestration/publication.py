"""Publication of the flights tables: branch `main` of repository `flights` as an asset, and the job `flights_pipeline`.

The data version of the asset is the head commit. Assets that depend on it, in this code location or another one, become
stale when another commit is published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.publishing.write_audit_publish import write_audit_publish
from orchestration.assets.flights import cleaned_flights, daily_delays, raw_flights, raw_weather
from orchestration.checks.flights import (
    cleaned_flights_checks,
    daily_delays_checks,
    raw_flights_checks,
    raw_weather_checks,
)

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

PUBLISHED = dg.AssetKey(["flights", "main"])
PLOTTED_TABLE = "daily_delays"


def flights_publication() -> dg.Definitions:
    """Return the tables, their checks, the publish asset, the published branch and the job."""
    return write_audit_publish(
        tables=[raw_flights, raw_weather, cleaned_flights, daily_delays],
        checks=[raw_flights_checks, raw_weather_checks, cleaned_flights_checks, daily_delays_checks],
        key=PUBLISHED,
        job="flights_pipeline",
        # All steps run in one process and share one Spark session, which takes longer to start than most steps.
        executor_def=dg.in_process_executor,
        show=show_delays,
    )


def show_delays(at: Snapshot) -> dict[str, Any]:
    """Return a plot and numbers of the published daily delays.

    Args:
        at: The published state.
    """
    from orchestration.display.plot import delays_plot
    from orchestration.display.tables import read_small_table

    daily = read_small_table(at, PLOTTED_TABLE)
    if not daily.height:
        return {}
    return {
        "daily delays": delays_plot(daily),
        "airport days": daily.height,
        "flights": int(daily["flights"].sum()),
    }
