"""Commit the run's branch, merge it: two ops, each of which may be tried again at any time; then tidy up.

Commit and merge hand the façade an idempotency key of publication and step, so that an op whose first attempt did its
work, but did not live to say so, finds its own commit. A branch that is not merged is left alone for people to look at.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.beta import beta_accepted
from orchestration.display.diff import summarise
from orchestration.display.plot import delays_plot
from orchestration.display.tables import read_small_table
from orchestration.ops.failures import RETRIES, told_to_dagster
from orchestration.resources.run_branch import RunBranch
from orchestration.runs import MESSAGE_TAG, partition_label

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord

COMMITTER = "dagster"
PLOTTED_TABLE = "daily_delays"


@dg.op(
    description="Commit what the run wrote on its branch.",
    ins={"tables": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def commit_branch(context: dg.OpExecutionContext, branch: RunBranch) -> None:
    """Commit; where nothing changed, the head stands for the commit."""
    report = branch.graveler.report(context.log.info)
    with told_to_dagster(context.retry_number):
        commit_id = _commit(context.run, branch)
    context.add_output_metadata({"commit": commit_id, "branch": branch.name, **report.facts()})


@dg.op(
    description="Merge the run's branch into the published one.",
    ins={"committed": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def merge_branch(context: dg.OpExecutionContext, branch: RunBranch) -> dg.Output[None]:
    """Merge, and show what changed. The output's data version is the merge's commit id."""
    report = branch.graveler.report(context.log.info)
    with told_to_dagster(context.retry_number):
        repository = branch.open_repository()
        head = repository.commit(branch.name).id
        merged = _merge(context.run, branch, head)
        brought = head in merged.parents  # else there was nothing to bring, and this is what main was already
        diff = summarise(repository.diff(merged.parents[0], merged.id) if brought else ())
        daily = read_small_table(repository.at(merged.id), PLOTTED_TABLE)
    metadata: dict[str, dg.MetadataValue[Any] | str | int] = {
        "commit": merged.id,
        "branch": branch.into,
        "merged": branch.name,
        "dagster/uri": f"graveler://{branch.repository}/{branch.into}",
        "changes": diff.total,
        "diff summary": dg.MetadataValue.md(diff.markdown()),
        "diff": diff.table(),
        **report.facts(),
    }
    if daily.height:
        metadata["daily delays"] = delays_plot(daily)
        metadata["airport days"] = daily.height
        metadata["flights"] = int(daily["flights"].sum())
    with beta_accepted():
        return dg.Output(None, data_version=dg.DataVersion(merged.id), metadata=metadata)


@dg.success_hook(required_resource_keys={"branch"})
def delete_merged_branch(context: dg.HookContext) -> None:
    """Delete the run's branch, now that it is merged.

    A hook, not an op: if it fails, the publication stands all the same, and a merged branch too many does no harm.
    """
    branch: RunBranch = context.resources.branch
    if branch.name != branch.into and branch.exists():
        branch.open_repository().delete_branch(branch.name)


def _commit(run: dg.DagsterRun, target: RunBranch) -> str:
    from graveler_core.errors import NoChanges

    branch = target.open_repository().branch(target.name)
    commit = partial(branch.commit, _message(run), committer=COMMITTER, metadata=_metadata(run, "commit"))
    key = target.idempotency_key("commit")
    try:
        made = commit(idempotency_key=key)
        if next(branch.uncommitted(limit=1), None) is not None:
            # Steps were run again after a first commit: what they wrote is a commit of its own.
            made = commit(idempotency_key=f"{key}/{made.id}")
    except NoChanges:
        return target.open_repository().commit(target.name).id
    return made.id


def _merge(run: dg.DagsterRun, target: RunBranch, head: str) -> "CommitRecord":
    from graveler_core.errors import NoChanges

    repository = target.open_repository()
    try:
        return repository.merge(
            head,
            into=target.into,
            message=_message(run),
            committer=COMMITTER,
            metadata=_metadata(run, "merge"),
            idempotency_key=target.idempotency_key(f"merge/{head}"),
        )
    except NoChanges as nothing:
        return repository.commit(nothing.details["commit"])


def _message(run: dg.DagsterRun) -> str:
    return run.tags.get(MESSAGE_TAG) or f"Publish {partition_label(run) or 'tables'}"


def _metadata(run: dg.DagsterRun, step: str) -> dict[str, str]:
    """What leads from a commit back to the run that made it."""
    return {"run": run.run_id, "job": run.job_name, "step": step, "partition": partition_label(run)}
