"""Commit the staged changes of a branch, in this process or on Spark, depending on the size.

The idempotency key consists of the run and the step. If an attempt has committed but died before it could report that,
the next attempt finds the commit.
"""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.runs import run_metadata, step_key

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

COMMITTER = "dagster"


class CommitConfig(dg.Config):
    """Configuration of a commit."""

    repository: str
    branch: str
    message: str
    committer: str = COMMITTER
    allow_empty: bool = False


@dg.op(
    description="Commit the staged changes of a branch.",
    out=dg.Out(str, description="Id of the commit, or of the head if nothing is staged."),
    retry_policy=RETRIES,
)
def commit(context: dg.OpExecutionContext, config: CommitConfig, graveler: GravelerResource) -> dg.Output[str]:
    """Commit the staged changes of a branch. Without changes, the output is the head of the branch."""
    return committed(context, config, graveler)


def committed(context: dg.OpExecutionContext, what: CommitConfig, graveler: GravelerResource) -> dg.Output[str]:
    """Commit, and return the output of the op. For ops that determine the branch themselves."""
    report = graveler.report(context.log.info, "commit")
    with told_to_dagster(context.retry_number):
        made = _commit(context, what, graveler.graveler().repository(what.repository))
    return dg.Output(made, metadata={"commit": made, "branch": what.branch, **report.facts(), **retries(context)})


def _commit(context: dg.OpExecutionContext, what: CommitConfig, repository: "Repository") -> str:
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
            # The run was resumed: changes staged since its last commit become a separate commit.
            made = make(idempotency_key=f"{key}/{made.id}", allow_empty=False)
    return made.id
