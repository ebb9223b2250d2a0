"""Complete a repository that was imported without indexes. Idempotent: a repetition continues an interrupted run, and
does nothing after a complete one.
"""

import time

import dagster as dg

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.ops.progress import logged_progress
from dagster_graveler.resources.graveler import GravelerResource

OP = "complete_migration"


class CompletionConfig(dg.Config):
    """Configuration of a completion: arguments of `Graveler.complete_migration`."""

    repository: str
    """Name of the repository."""
    workers: int = 4
    """Number of lines of history to complete at the same time."""


@dg.op(
    name=OP,
    description="Compute the indexes of a repository that was imported without them, and make it usable.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def complete_migration(context: dg.OpExecutionContext, config: CompletionConfig, graveler: GravelerResource) -> None:
    """Complete a repository."""
    start = time.monotonic()
    with told_to_dagster(context.retry_number):
        done = graveler.graveler().complete_migration(
            config.repository, workers=config.workers, progress=logged_progress(context, "commits completed")
        )
    context.add_output_metadata(
        {
            "dagster/uri": f"graveler://{config.repository}",
            "commits": done.commits,
            "earlier commits": done.earlier_commits,
            "seconds": time.monotonic() - start,
            **retries(context),
        }
    )
