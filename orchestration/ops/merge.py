"""Merge a ref into a branch, wherever the size of it asks for: in this process or on Spark. Idempotent as `commit`."""

from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from orchestration.display.diff import summarise
from orchestration.ops.commit import COMMITTER
from orchestration.ops.failures import RETRIES, retries, told_to_dagster
from orchestration.resources.graveler import GravelerResource
from orchestration.runs import run_metadata, step_key

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord
    from graveler_core.facade.repository import Repository


class Merge(dg.Config):
    """What to merge, and who wins."""

    repository: str
    source: str
    into: str
    message: str = ""
    committer: str = COMMITTER
    strategy: Literal["none", "source", "destination"] = "none"
    """Who wins where both changed a path; none: it is a conflict."""
    squash: bool = True


@dg.op(
    description="Merge a ref into a branch of the same repository.",
    out=dg.Out(str, description="The id of the merge; of the branch's head, where there was nothing to bring."),
    retry_policy=RETRIES,
)
def merge(context: dg.OpExecutionContext, config: Merge, graveler: GravelerResource) -> dg.Output[str]:
    """Merge, and show what changed."""
    return merged(context, config, graveler)


def merged(context: dg.OpExecutionContext, what: Merge, graveler: GravelerResource) -> dg.Output[str]:
    """What the op gives, for steps that find out themselves what to merge."""
    report = graveler.report(context.log.info, "merge")
    with told_to_dagster(context.retry_number):
        repository = graveler.graveler().repository(what.repository)
        source = repository.commit(what.source).id
        made = _merge(context, what, repository, source)
        brought = source in made.parents  # else there was nothing to bring, and this is what the branch was already
        diff = summarise(repository.diff(made.parents[0], made.id) if brought else ())
    metadata: dict[str, Any] = {
        "commit": made.id,
        "branch": what.into,
        "merged": what.source,
        "dagster/uri": f"graveler://{what.repository}/{what.into}",
        **report.facts(),
        **retries(context),
        "changes": diff.total,
        "diff summary": dg.MetadataValue.md(diff.markdown()),
        "diff": diff.table(),
    }
    return dg.Output(made.id, metadata=metadata)


def _merge(context: dg.OpExecutionContext, what: Merge, repository: "Repository", source: str) -> "CommitRecord":
    from graveler_core.errors import NoChanges

    try:
        return repository.merge(
            source,
            what.into,
            message=what.message or f"Merge {what.source} into {what.into}",
            committer=what.committer,
            metadata=run_metadata(context),
            strategy=None if what.strategy == "none" else what.strategy,
            squash=what.squash,
            idempotency_key=f"{step_key(context)}/{source}",
        )
    except NoChanges as nothing:
        return repository.commit(nothing.details["commit"])
