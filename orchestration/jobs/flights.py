"""`flights_pipeline`: one or more months of flights, from the delivered files to the published branch."""

from __future__ import annotations

import dagster as dg

from orchestration.assets.flights import GROUP

flights_pipeline = dg.define_asset_job(
    "flights_pipeline",
    selection=dg.AssetSelection.groups(GROUP),
    description="Write raw, cleaned and daily tables on an isolated branch, check them, commit, merge into main. "
    "When a check fails, nothing reaches main and the branch stays.",
    # One process: its steps share one Spark session, which costs more to start than most steps take.
    executor_def=dg.in_process_executor,
)
