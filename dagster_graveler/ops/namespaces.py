"""Delete the content of repositories that the cleaning job has removed. Idempotent: the next run continues."""

import time
from datetime import timedelta

import dagster as dg
from pydantic import Field

from dagster_graveler.display.namespaces import namespaces_outcome, namespaces_table
from dagster_graveler.ops.collection import POOL
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.ops.progress import logged_progress
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE

OP = "empty_namespaces"


class NamespacesConfig(dg.Config):
    """Configuration of a run."""

    dry_run: bool = Field(
        default=True, description="Only report what would be deleted. Set it to false to delete content."
    )
    grace_hours: float = Field(
        default=GRACE / timedelta(hours=1),
        ge=0.0,
        description="Least time between reserving a storage namespace, deleting its content, and releasing it, in "
        "hours. It must be longer than any write, and at least 24 unless `alone` is true.",
    )
    alone: bool = Field(default=False, description="Assert that no other process works on the store.")


@dg.op(
    name=OP,
    description="Take each storage namespace of a removed repository one step further: reserve it, delete its content, "
    "or release it. In a dry run, which is the default, only report it.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
    pool=POOL,
)
def empty_namespaces(context: dg.OpExecutionContext, config: NamespacesConfig, graveler: GravelerResource) -> None:
    """Delete what is due, and report the state of each namespace in the metadata."""
    start = time.monotonic()
    with told_to_dagster(context.retry_number):
        found = graveler.graveler().empty_namespaces(
            grace=timedelta(hours=config.grace_hours),
            dry_run=config.dry_run,
            alone=config.alone,
            progress=logged_progress(context, "items examined"),
        )
    said = namespaces_outcome(found, dry_run=config.dry_run)
    context.log.info(said)
    deleted = "would be deleted" if config.dry_run else "deleted"
    context.add_output_metadata(
        {
            "outcome": said,
            "dry run": config.dry_run,
            "namespaces": len(found),
            f"objects {deleted}": sum(one.deleted for one in found),
            f"bytes {deleted}": sum(one.deleted_size for one in found),
            "objects kept for other repositories": sum(one.named for one in found),
            **({"states": dg.MetadataValue.md(namespaces_table(found))} if found else {}),
            "seconds": time.monotonic() - start,
            **retries(context),
        }
    )
