"""Import objects from an object store into a branch, without copying them. Idempotent for each run and step: all
attempts together make one commit.
"""

import time
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_graveler.ops.commit import COMMITTER
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.ops.progress import logged_progress
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.runs import run_metadata, step_key

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.importing import Imported

OP = "import_objects"


class ImportConfig(dg.Config):
    """Configuration of an import: arguments of `Repository.import_prefix`, or of `import_inventory` if `inventory` is
    set.
    """

    repository: str
    branch: str
    source: str
    """URI of the directory."""
    destination: str = ""
    mode: str = "add"
    """"add" or "replace"."""
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    inventory: str = ""
    """URI of Parquet files that list the objects, instead of a listing of the store."""
    skip_invalid: bool = False
    message: str = ""


@dg.op(
    name=OP,
    description="Import existing objects of an object store into a branch, in one commit, without copying them.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def import_objects(context: dg.OpExecutionContext, config: ImportConfig, graveler: GravelerResource) -> None:
    """Import objects. Succeeds if there is nothing new."""
    report, start = graveler.report(context.log.info, "import"), time.monotonic()
    with told_to_dagster(context.retry_number):
        outcome = _outcome(context, config, graveler.graveler())
    context.add_output_metadata(
        {
            "source": config.source,
            "dagster/uri": f"graveler://{config.repository}/{config.branch}/{config.destination}",
            **outcome,
            "seconds": time.monotonic() - start,
            **report.facts(),
            **retries(context),
        }
    )


def _outcome(context: dg.OpExecutionContext, config: ImportConfig, graveler: "Graveler") -> dict[str, Any]:
    """Import, and return the result as metadata."""
    from graveler_core.errors import NoChanges

    try:
        return _told(_imported(context, config, graveler))
    except NoChanges as nothing:
        return {"outcome": "nothing new", "commit": str(nothing.details.get("commit", ""))}


def _imported(context: dg.OpExecutionContext, config: ImportConfig, graveler: "Graveler") -> "Imported":
    repository = graveler.repository(config.repository)
    options: dict[str, Any] = {
        "mode": config.mode,
        "include": config.include,
        "exclude": config.exclude,
        "message": config.message,
        "committer": COMMITTER,
        "metadata": run_metadata(context),
        "skip_invalid": config.skip_invalid,
        "idempotency_key": f"import/{step_key(context)}",
        "progress": logged_progress(context, "objects listed"),
    }
    if config.inventory:
        return repository.import_inventory(
            config.inventory, config.source, config.branch, config.destination, **options
        )
    return repository.import_prefix(config.source, config.branch, config.destination, **options)


def _told(done: "Imported") -> dict[str, Any]:
    commit = "" if done.commit is None else done.commit.id
    if done.changes is None:
        return {"outcome": "imported by an earlier attempt", "commit": commit}
    told = {
        "outcome": "imported",
        "commit": commit,
        "objects": done.objects,
        "bytes": done.size,
        "added": done.changes.added,
        "changed": done.changes.changed,
        "removed": done.changes.removed,
        "directory markers": done.markers,
        "left out by globs": done.unmatched,
        "invalid": done.invalid,
    }
    if done.examples:
        told["invalid keys"] = dg.MetadataValue.json([[example.key, example.rule] for example in done.examples])
    return told
