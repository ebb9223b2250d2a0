"""Call the webhooks that processes could not call, and show the newest runs of hooks. Idempotent."""

import time

import dagster as dg
from pydantic import Field

from dagster_graveler.display.hooks import deliveries_outcome, hook_runs_table
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource

OP = "deliver_hooks"
SHOWN = 20
"""Number of runs that the metadata shows."""


class HooksConfig(dg.Config):
    """Configuration of a run."""

    repository: str = Field(description="Name of the repository.")


@dg.op(
    name=OP,
    description="Call the webhooks after changes whose process ended before it called them, and remove old results.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def deliver_hooks(context: dg.OpExecutionContext, config: HooksConfig, graveler: GravelerResource) -> None:
    """Deliver the hooks of a repository, and report the newest runs in the metadata."""
    start = time.monotonic()
    with told_to_dagster(context.retry_number):
        repository = graveler.graveler().repository(config.repository)
        found = repository.deliver_hooks()
        newest = list(repository.hook_runs(limit=SHOWN))
    said = deliveries_outcome(found)
    context.log.info(said)
    context.add_output_metadata(
        {
            "outcome": said,
            "webhooks called": found.passed + found.failed,
            "webhooks failed": found.failed,
            "changes not verified": found.uncertain,
            **({"newest runs": dg.MetadataValue.md(hook_runs_table(newest))} if newest else {}),
            "seconds": time.monotonic() - start,
            **retries(context),
        }
    )
