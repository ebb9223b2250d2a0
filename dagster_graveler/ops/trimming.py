"""Trim the log of branches and tags of one repository, so that it is stored in fewer commits. Idempotent."""

import time
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster, unless_missing
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.references.trimming import Trimmed

OP = "trim_reflog"


class TrimmingConfig(dg.Config):
    """Configuration of a trimming."""

    repository: str = Field(description="Name of the repository.")


@dg.op(
    name=OP,
    description="Store the log of branches and tags in fewer commits. Its events do not change.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def trim_reflog(context: dg.OpExecutionContext, config: TrimmingConfig, graveler: GravelerResource) -> None:
    """Trim the log of a repository. Succeeds if the repository does not exist."""
    start = time.monotonic()
    with told_to_dagster(context.retry_number):
        done = unless_missing(lambda: graveler.graveler().repository(config.repository).trim_reflog())
    shown = _shown(config.repository, done)
    context.log.info(shown["outcome"])
    context.add_output_metadata({**shown, "seconds": time.monotonic() - start, **retries(context)})


def _shown(repository: str, done: "Trimmed | None") -> dict[str, Any]:
    """Return the metadata of a trimming; `None` for a repository that does not exist."""
    if done is None:
        return {"outcome": f"Repository {repository} does not exist yet, so it has no log to trim."}
    combined, deleted = counted(done.folded, "commit"), counted(done.deleted, "former commit")
    return {
        "outcome": f"Combined {combined} of the log, and deleted {deleted}.",
        "commits combined": done.folded,
        "former commits deleted": done.deleted,
    }
