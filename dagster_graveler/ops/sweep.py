"""Sweep one repository: delete the parts of commits, and files of failed jobs, to which nothing refers. Idempotent."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_graveler.ops.collection import POOL
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster, unless_missing
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.gc.sweep import Swept

OP = "sweep"


class SweepConfig(dg.Config):
    """Configuration of a sweep."""

    repository: str = Field(description="Name of the repository.")
    dry_run: bool = Field(default=False, description="Only report what a sweep would delete.")
    grace_hours: float = Field(
        default=GRACE / timedelta(hours=1),
        ge=24.0,
        description="Least age of objects to delete, in hours. It must be longer than any commit, merge or compaction.",
    )
    uploads: bool = Field(default=True, description="Also delete files that failed jobs uploaded and never committed.")


@dg.op(
    name=OP,
    description="Delete parts of commits that nothing refers to, and files that failed jobs uploaded, after a grace "
    "period.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
    pool=POOL,
)
def sweep_repository(context: dg.OpExecutionContext, config: SweepConfig, graveler: GravelerResource) -> None:
    """Sweep a repository. Succeeds if the repository does not exist."""
    start = time.monotonic()
    with told_to_dagster(context.retry_number):
        done = unless_missing(lambda: _swept(config, graveler))
    shown = _shown(config.repository, done)
    context.log.info(shown["outcome"])
    context.add_output_metadata({**shown, "seconds": time.monotonic() - start, **retries(context)})


def _swept(config: SweepConfig, graveler: GravelerResource) -> "Swept":
    return (
        graveler.graveler()
        .repository(config.repository)
        .sweep(grace=timedelta(hours=config.grace_hours), dry_run=config.dry_run, uploads=config.uploads)
    )


def _shown(repository: str, done: "Swept | None") -> dict[str, Any]:
    """Return the metadata of a sweep; `None` for a repository that does not exist."""
    if done is None:
        return {"outcome": f"Repository {repository} does not exist yet, so there is nothing to sweep."}
    count, size = done.objects + done.blobs, done.size
    said = f"{counted(count, 'item')} ({counted(size, 'byte')}) that nothing refers to"
    return {
        "outcome": f"Dry run: nothing was changed. A sweep would delete {said}."
        if done.dry_run
        else f"Deleted {said}.",
        "dry run": done.dry_run,
        "objects": done.objects,
        "files": done.blobs,
        "bytes": done.size,
        "uploads of failed jobs": done.uploads,
        "kept because they are young": done.young,
        "kept because they were needed again": done.renewed,
        "kept because they are unreadable": done.unreadable,
        "left for the next sweep": done.rest,
    }
