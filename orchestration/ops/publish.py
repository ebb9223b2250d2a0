"""Commit the run's branch, merge it: two ops, each of which may be tried again at any time; then tidy up.

Commit and merge hand the façade an idempotency key of publication and step, so that an op whose first attempt did its
work, but did not live to say so, finds its own commit. A branch that is not merged is left alone for people to look at.
"""

from typing import Any

import dagster as dg

from orchestration.display.diff import summarise
from orchestration.display.plot import delays_plot
from orchestration.display.tables import read_small_table
from orchestration.ops.failures import RETRIES, told_to_dagster
from orchestration.resources.run_branch import RunBranch
from orchestration.runs import MESSAGE_TAG, partition_label

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
    with told_to_dagster(context.retry_number):
        commit_id = _commit(context.run, branch)
    context.add_output_metadata({"commit": commit_id, "branch": branch.name})


@dg.op(
    description="Merge the run's branch into the published one.",
    ins={"committed": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def merge_branch(context: dg.OpExecutionContext, branch: RunBranch) -> dg.Output[None]:
    """Merge, and show what changed. The output's data version is the merge's commit id."""
    with told_to_dagster(context.retry_number):
        repository = branch.open_repository()
        commit_id = _merge(context.run, branch)
        published = repository.at(commit_id)
        diff = summarise(repository.diff(f"{commit_id}~1", commit_id))
        daily = read_small_table(published, PLOTTED_TABLE)
    metadata: dict[str, dg.MetadataValue[Any] | str | int] = {
        "commit": commit_id,
        "branch": branch.into,
        "merged": branch.name,
        "dagster/uri": f"graveler://{branch.repository}/{branch.into}",
        "changes": diff.total,
        "diff summary": dg.MetadataValue.md(diff.markdown()),
        "diff": diff.table(),
    }
    if daily.height:
        metadata["daily delays"] = delays_plot(daily)
        metadata["airport days"] = daily.height
        metadata["flights"] = int(daily["flights"].sum())
    return dg.Output(None, data_version=dg.DataVersion(commit_id), metadata=metadata)


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
    key = target.idempotency_key("commit")
    what = partition_label(run)
    message = run.tags.get(MESSAGE_TAG) or f"Publish {what or 'tables'}"
    metadata = {"run": run.run_id, "job": run.job_name, "step": "commit", "partition": what}
    try:
        commit = branch.commit(message, committer=COMMITTER, metadata=metadata, idempotency_key=key)
        if any(True for _ in branch.uncommitted(limit=1)):
            # Steps were run again after a first commit: what they wrote is a commit of its own.
            commit = branch.commit(
                message, committer=COMMITTER, metadata=metadata, idempotency_key=f"{key}/{commit.id}"
            )
    except NoChanges:
        return str(next(iter(target.open_repository().log(target.name, limit=1))).id)
    return str(commit.id)


def _merge(run: dg.DagsterRun, target: RunBranch) -> str:
    from graveler_core.errors import NoChanges

    repository = target.open_repository()
    message = run.tags.get(MESSAGE_TAG) or f"Publish {partition_label(run) or 'tables'}"
    head = next(iter(repository.log(target.name, limit=1)))
    try:
        merged = repository.merge(
            target.name,
            into=target.into,
            message=message,
            committer=COMMITTER,
            metadata={"run": run.run_id, "job": run.job_name, "step": "merge", "partition": partition_label(run)},
            idempotency_key=target.idempotency_key(f"merge/{head.id}"),
        )
    except NoChanges:
        return str(next(iter(repository.log(target.into, limit=1))).id)
    return str(merged.id)
