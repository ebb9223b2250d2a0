"""Commit what is staged on a branch, wherever the size of it asks for: in this process or on Spark.

The façade is given a key of the run and the step, so that an op whose first attempt did its work, but did not live to
say so, finds its own commit.
"""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.ops.failures import RETRIES, retries, told_to_dagster
from orchestration.resources.graveler import GravelerResource
from orchestration.runs import run_metadata, step_key

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

COMMITTER = "dagster"


class Commit(dg.Config):
    """What to commit."""

    repository: str
    branch: str
    message: str
    committer: str = COMMITTER
    allow_empty: bool = False


@dg.op(
    description="Commit what is staged on a branch.",
    out=dg.Out(str, description="The id of the commit; of the head, where nothing is staged."),
    retry_policy=RETRIES,
)
def commit(context: dg.OpExecutionContext, config: Commit, graveler: GravelerResource) -> dg.Output[str]:
    """Commit; where nothing changed, the head stands for the commit."""
    return committed(context, config, graveler)


def committed(context: dg.OpExecutionContext, what: Commit, graveler: GravelerResource) -> dg.Output[str]:
    """What the op gives, for steps that find out themselves what to commit."""
    report = graveler.report(context.log.info, "commit")
    with told_to_dagster(context.retry_number):
        made = _commit(context, what, graveler.graveler().repository(what.repository))
    return dg.Output(made, metadata={"commit": made, "branch": what.branch, **report.facts(), **retries(context)})


def _commit(context: dg.OpExecutionContext, what: Commit, repository: "Repository") -> str:
    from graveler_core.errors import NoChanges

    branch, key = repository.branch(what.branch), step_key(context)
    make = partial(
        branch.commit,
        what.message,
        committer=what.committer,
        metadata=run_metadata(context),
        allow_empty=what.allow_empty,
    )
    try:
        made = make(idempotency_key=key)
    except NoChanges:
        return repository.commit(what.branch).id
    with suppress(NoChanges):
        while made.metadata["run"] != context.run_id:
            # The run is resumed: what was staged since its last commit, however often, is a commit of its own.
            made = make(idempotency_key=f"{key}/{made.id}", allow_empty=False)
    return made.id
