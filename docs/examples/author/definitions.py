"""A pipeline author's own code location: it reads published flights, and publishes a report after its check.

`workspace.yaml` loads it beside the project's own definitions. The UI shows `worst_days` as stale as soon as something
new is published on `flights/main`. The report is written on a branch of the repository `reports`, checked there, and
merged into its branch `main`.
"""

import dagster as dg
import polars as pl

from dagster_graveler import GravelerBranch, GravelerIOManager, GravelerResource, write_audit_publish

DAYS = 10
FLIGHTS = "Published branch of the flights, from another code location. The data version is the commit at its head."
COLUMNS = ["flight_date", "origin", "flights", "dep_delay_mean", "wind_max", "precip_sum"]
published_delays = dg.AssetIn(
    ["flights", "main"],
    metadata={"graveler/path": "daily_delays", "columns": COLUMNS},
    input_manager_key="flights_tables",
)


@dg.asset(ins={"delays": published_delays}, group_name="author", kinds={"polars"})
def worst_days(delays: pl.DataFrame) -> pl.DataFrame:
    """The ten worst days for leaving New York, from the published flights."""
    rounded = delays.with_columns(pl.col("dep_delay_mean").round(1))
    return rounded.top_k(DAYS, by="dep_delay_mean").sort("dep_delay_mean", descending=True)


@dg.asset_check(asset=worst_days, blocking=True)
def flights_left(worst_days: pl.DataFrame) -> dg.AssetCheckResult:
    """There are days, and on each of them flights left."""
    return dg.AssetCheckResult(passed=worst_days.height > 0 and bool((worst_days["flights"] > 0).all()))


def branch(repository: str) -> GravelerBranch:
    """Return the branch of a run in one of two repositories."""
    return GravelerBranch(graveler=graveler, repository=repository, storage_root=dg.EnvVar("GRAVELER_DATA"))


graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
flights, reports = branch("flights"), branch("reports")
defs = dg.Definitions.merge(
    write_audit_publish(tables=[worst_days], checks=[flights_left], key=["reports", "main"], branch="reports"),
    dg.Definitions(
        assets=[dg.AssetSpec(["flights", "main"], group_name="flights", description=FLIGHTS)],
        resources={
            "reports": reports,
            "io_manager": GravelerIOManager(branch=reports),
            "flights_tables": GravelerIOManager(branch=flights),
        },
    ),
)
