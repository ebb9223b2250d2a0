"""A pipeline author's own code location: it depends on a published branch, and reads it at the commit it was built for.

Loaded by `workspace.yaml` beside the project's own definitions. `worst_days` is seen stale as soon as something new is
published on `flights/main`, and up to date again when it has run.
"""

import io

import dagster as dg
import polars as pl

from dagster_graveler.data_version import reported_commit
from dagster_graveler.resources.graveler import GravelerResource

FLIGHTS = dg.AssetKey(["flights", "main"])


@dg.asset(
    deps=[FLIGHTS],
    group_name="author",
    kinds={"polars"},
    description="The ten worst days for leaving New York, from the published flights.",
)
def worst_days(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult:
    commit = reported_commit(context.instance, FLIGHTS)
    if commit is None:
        raise dg.Failure("nothing is published yet: run flights_pipeline first", allow_retries=False)
    at = graveler.graveler().repository("flights").at(commit)
    files = [io.BytesIO(at.read(entry.path)) for entry in at.list("daily_delays/")]
    worst = (
        pl.concat(pl.read_parquet(file) for file in files)
        .select("flight_date", "origin", "flights", pl.col("dep_delay_mean").round(1), "wind_max", "precip_sum")
        .top_k(10, by="dep_delay_mean")
        .sort("dep_delay_mean", descending=True)
    )
    return dg.MaterializeResult(
        metadata={
            "commit": commit,
            "dagster/row_count": worst.height,
            "worst days": dg.MetadataValue.md(_markdown(worst)),
        }
    )


def _markdown(table: pl.DataFrame) -> str:
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * table.width]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in table.rows()]
    return "\n".join(lines)


defs = dg.Definitions(
    assets=[worst_days],
    resources={"graveler": GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))},
)
