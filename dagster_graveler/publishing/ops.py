"""Ops of a publish asset: commit the branches of the run, reach the verdicts, merge, and delete the merged branches.

Each op can be retried at any time, and finds the result of an earlier attempt. A branch that is not published is kept.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import dagster as dg

from dagster_graveler.beta import beta_accepted
from dagster_graveler.display.show import shown_metadata
from dagster_graveler.ops.commit import CommitConfig, committed
from dagster_graveler.ops.failures import RETRIES, told_to_dagster
from dagster_graveler.publishing.evidence import BranchIdentity, ids_on, is_in_use
from dagster_graveler.publishing.merging import ALREADY, NOTHING, REQUIRED, Published, message, publish_targets
from dagster_graveler.publishing.published_branch import materialize_branch
from dagster_graveler.publishing.publisher import Publisher
from dagster_graveler.publishing.written import PUBLISHED, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import MarkedBranch
from dagster_graveler.runs import is_created_by_run


def commit_op(publisher: Publisher) -> dg.OpDefinition:
    """Return the op that commits the branches of the run."""

    @dg.op(
        name=f"{publisher.slug}__commit",
        description="Commit the changes of the run on its branch.",
        ins={name: dg.In(dg.Nothing) for name in publisher.inputs},
        out=dg.Out(dg.Nothing),
        required_resource_keys=publisher.branch_keys,
        retry_policy=RETRIES,
    )
    def commit(context: dg.OpExecutionContext) -> None:
        branches = publisher.branches(context.resources)
        for branch in branches:
            with told_to_dagster(context.retry_number):
                found = branch.exists()
            if found:
                what = CommitConfig(repository=branch.repository, branch=branch.name, message=message(context.run))
                told = committed(context, what, branch.graveler).metadata
                of = f" of {branch.repository}" if len(branches) > 1 else ""
                context.add_output_metadata({f"{name}{of}": value for name, value in told.items()})

    return commit


def publish_op(publisher: Publisher) -> dg.OpDefinition:
    """Return the op that reaches a verdict about each commit, and merges the commits."""

    @dg.op(
        name=f"{publisher.slug}__publish",
        description="Publish the committed branch if all blocking checks of the changed tables passed.",
        ins={"committed": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        required_resource_keys=publisher.branch_keys,
        retry_policy=RETRIES,
        pool=publisher.pool,
    )
    def publish(context: dg.OpExecutionContext) -> dg.Output[None]:
        done = []
        with told_to_dagster(context.retry_number):
            for result in publish_targets(context, publisher):
                _tell_branch(context, result)
                done.append(result)
        with beta_accepted():
            version = dg.DataVersion(",".join(result.commit for result in done))
            return dg.Output(None, data_version=version, metadata=_metadata(done))

    return publish


def _tell_branch(context: dg.OpExecutionContext, result: Published) -> None:
    """Add the metadata of the function `show`, and materialize the published branch."""
    group, commit = result.target.group, result.commit
    repository = result.branch.open_repository()
    result.metadata.update(shown_metadata(result.target.show, repository.at(commit), context.log))
    if result.metadata[STATE] == PUBLISHED:
        materialize_branch(context, repository, group.key, commit, result.metadata)


def _metadata(done: Sequence[Published]) -> dict[str, Any]:
    """Return the metadata of the publish asset: all metadata of a single target, or one row for each of several."""
    if len(done) == 1:
        return done[0].metadata
    states = [str(result.metadata[STATE]) for result in done]
    columns = ("published branch", "state", "commit", "merged branch")
    records = [
        dg.TableRecord(
            dict(zip(columns, (result.target.group.name, state, result.commit, result.branch.name), strict=True))
        )
        for result, state in zip(done, states, strict=True)
    ]
    schema = dg.TableSchema(columns=[dg.TableColumn(name) for name in columns])
    labels = {result.target.group.commit_label: result.commit for result in done}
    missing = {
        f"{REQUIRED} of {each.target.group.name}": each.metadata[REQUIRED] for each in done if REQUIRED in each.metadata
    }
    state = next((one for one in (PUBLISHED, ALREADY) if one in states), NOTHING)
    return {STATE: state, "targets": dg.MetadataValue.table(records, schema), **labels, **missing}


def deletion_hook(publisher: Publisher) -> dg.HookDefinition:
    """Return the hook that deletes the branches that runs have created after they are merged.

    This is a hook, not an op: if it fails, the publication remains valid, and an unnecessary merged branch does no
    harm.
    """

    @dg.success_hook(name=f"{publisher.slug}__delete_merged", required_resource_keys=publisher.branch_keys)
    def delete_merged(context: dg.HookContext) -> None:
        for target in publisher.targets:
            branch: GravelerBranch = getattr(context.resources, target.branch_key)
            if branch.exists():
                place = MarkedBranch(branch.name, branch.uid)
                if is_created_by_run(context.instance, branch.repository, place):
                    _delete_merged(context, branch)

    return delete_merged


def _delete_merged(context: dg.HookContext, branch: GravelerBranch) -> None:
    """Delete a branch that was merged, or whose commits change nothing together.

    A branch that another run still uses is kept, because what that run writes would be deleted with it. The last such
    run or the sensor over kept branches deletes it. Staged writes do not move the head. Those of a run that has ended
    are found after the question for active runs, and those of a run that has joined since are told by its id.
    """
    from graveler_core.errors import Conflict

    repository = branch.open_repository()
    place = BranchIdentity(branch.repository, branch.name, branch.uid)
    known = ids_on(context.instance, place)
    if is_in_use(context.instance, place, besides=context.run_id):
        return
    head = repository.commit(branch.name).id
    unmerged = repository.diff(branch.into, head, limit=1, since_merge_base=True)
    uncommitted = repository.branch(branch.name).uncommitted(limit=1)
    if any(True for changes in (unmerged, uncommitted) for _ in changes):
        return
    if ids_on(context.instance, place) == known:
        with suppress(Conflict):  # another run has committed to it since
            repository.delete_branch(branch.name, expected=head)
