"""Commit the run's branch, merge it: the ops `commit` and `merge` on the branch of the run at hand; then tidy up.

Each may be tried again at any time, and finds what an attempt before it has made. A branch that is not merged is left
alone for people to look at.
"""

from typing import Any

import dagster as dg

from orchestration.beta import beta_accepted
from orchestration.display.plot import delays_plot
from orchestration.display.tables import read_small_table
from orchestration.ops.commit import Commit, committed
from orchestration.ops.failures import RETRIES, told_to_dagster
from orchestration.ops.merge import Merge, merged
from orchestration.resources.run_branch import RunBranch
from orchestration.runs import MESSAGE_TAG, partition_label

PLOTTED_TABLE = "daily_delays"


@dg.op(
    description="Commit what the run wrote on its branch.",
    ins={"tables": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def commit_branch(context: dg.OpExecutionContext, branch: RunBranch) -> None:
    """Commit; where nothing changed, the head stands for the commit."""
    what = Commit(repository=branch.repository, branch=branch.name, message=_message(context.run))
    context.add_output_metadata(committed(context, what, branch.graveler).metadata)


@dg.op(
    description="Merge the run's branch into the published one.",
    ins={"committed": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def merge_branch(context: dg.OpExecutionContext, branch: RunBranch) -> dg.Output[None]:
    """Merge, and show what changed. The output's data version is the merge's commit id."""
    what = Merge(repository=branch.repository, source=branch.name, into=branch.into, message=_message(context.run))
    made = merged(context, what, branch.graveler)
    metadata: dict[str, Any] = dict(made.metadata)
    with told_to_dagster(context.retry_number):
        daily = read_small_table(branch.open_repository().at(made.value), PLOTTED_TABLE)
    if daily.height:
        metadata["daily delays"] = delays_plot(daily)
        metadata["airport days"] = daily.height
        metadata["flights"] = int(daily["flights"].sum())
    with beta_accepted():
        return dg.Output(None, data_version=dg.DataVersion(made.value), metadata=metadata)


@dg.success_hook(required_resource_keys={"branch"})
def delete_merged_branch(context: dg.HookContext) -> None:
    """Delete the run's branch, now that it is merged.

    A hook, not an op: if it fails, the publication stands all the same, and a merged branch too many does no harm.
    """
    branch: RunBranch = context.resources.branch
    if branch.name != branch.into and branch.exists():
        branch.open_repository().delete_branch(branch.name)


def _message(run: dg.DagsterRun) -> str:
    return run.tags.get(MESSAGE_TAG) or f"Publish {partition_label(run) or 'tables'}"
