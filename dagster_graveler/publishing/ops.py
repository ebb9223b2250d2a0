"""Ops of a publish asset: commit the branch of the run, take the verdict, merge, and delete the merged branch.

Each can be retried at any time, and finds the result of an earlier attempt. A branch that is not published is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from dagster_graveler.beta import beta_accepted
from dagster_graveler.data_version import DATA_VERSION_TAG, reported_commit
from dagster_graveler.display.show import Show, shown_metadata
from dagster_graveler.ops.commit import CommitConfig, committed
from dagster_graveler.ops.failures import RETRIES, told_to_dagster
from dagster_graveler.ops.merge import MergeConfig, merged
from dagster_graveler.publishing.branch_choice import Chosen
from dagster_graveler.publishing.evidence import Evidence, Place, gather
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.instructions import kept, run_again, what_to_do
from dagster_graveler.publishing.reports import report, require
from dagster_graveler.publishing.verdict import Verdict, committed_changes, judge
from dagster_graveler.publishing.written import PUBLISHED, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.runs import MESSAGE_TAG, RANGE_END_TAG, RANGE_START_TAG, partition_label

KEPT = "kept"
NOTHING = "nothing to publish"
ALREADY = "already published"
_LOST = ("MergeConflict", "PrefixChanged")
"""Kinds of errors of a merge that lost against another publication."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Parts of a publish asset: its group, the key of the branch resource, the pool, and the metadata to show."""

    group: TableGroup
    branch_key: str
    pool: str
    show: Show | None = None

    @property
    def slug(self) -> str:
        """Name of the group in the form of op names."""
        return "__".join(self.group.key.path)

    @property
    def inputs(self) -> dict[str, dg.AssetKey]:
        """Tables by the names of the inputs that wait for them."""
        return {"__".join(table.key.path): table.key for table in self.group.tables}


def commit_op(publisher: Publisher) -> dg.OpDefinition:
    """Return the op that commits the branch of the run."""

    @dg.op(
        name=f"{publisher.slug}__commit",
        description="Commit the changes of the run on its branch.",
        ins={name: dg.In(dg.Nothing) for name in publisher.inputs},
        out=dg.Out(dg.Nothing),
        required_resource_keys={publisher.branch_key},
        retry_policy=RETRIES,
    )
    def commit(context: dg.OpExecutionContext) -> None:
        branch: GravelerBranch = getattr(context.resources, publisher.branch_key)
        _refuse_target(branch)
        with told_to_dagster(context.retry_number):
            found = branch.exists()
        if found:
            what = CommitConfig(repository=branch.repository, branch=branch.name, message=_message(context.run))
            context.add_output_metadata(committed(context, what, branch.graveler).metadata)

    return commit


def publish_op(publisher: Publisher) -> dg.OpDefinition:
    """Return the op that takes the verdict and merges the commit that it was taken about."""

    @dg.op(
        name=f"{publisher.slug}__publish",
        description="Publish the committed branch if all blocking checks of the changed tables passed.",
        ins={"committed": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        required_resource_keys={publisher.branch_key},
        retry_policy=RETRIES,
        pool=publisher.pool,
    )
    def publish(context: dg.OpExecutionContext) -> dg.Output[None]:
        branch: GravelerBranch = getattr(context.resources, publisher.branch_key)
        with told_to_dagster(context.retry_number):
            commit, metadata = _publish(context, publisher, branch)
            published = branch.open_repository().at(commit)
        metadata |= shown_metadata(publisher.show, published, context.log)
        if metadata[STATE] == PUBLISHED and reported_commit(context.instance, publisher.group.key) != commit:
            context.log_event(_published_branch(publisher.group.key, commit, metadata))
        with beta_accepted():
            return dg.Output(None, data_version=dg.DataVersion(commit), metadata=metadata)

    return publish


def _published_branch(key: dg.AssetKey, commit: str, metadata: Mapping[str, Any]) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        key, description=f"Published as commit {commit}", metadata=metadata, tags={DATA_VERSION_TAG: commit}
    )


def deletion_hook(publisher: Publisher) -> dg.HookDefinition:
    """Return the hook that deletes the branch after it is merged.

    This is a hook, not an op: if it fails, the publication remains valid, and an unnecessary merged branch does no
    harm.
    """

    @dg.success_hook(name=f"{publisher.slug}__delete_merged", required_resource_keys={publisher.branch_key})
    def delete_merged(context: dg.HookContext) -> None:
        branch: GravelerBranch = getattr(context.resources, publisher.branch_key)
        if branch.name == branch.into or not branch.exists():
            return
        repository = branch.open_repository()
        head = repository.commit(branch.name).id
        is_merged = repository.merge_base(head, branch.into).id == head
        if is_merged and next(iter(repository.branch(branch.name).uncommitted(limit=1)), None) is None:
            repository.delete_branch(branch.name)

    return delete_merged


def _publish(
    context: dg.OpExecutionContext, publisher: Publisher, branch: GravelerBranch
) -> tuple[str, dict[str, Any]]:
    """Publish the branch. Return the commit that is published, and the metadata of the output."""
    repository, group = branch.open_repository(), publisher.group
    if not branch.exists():
        return _without_branch(context, publisher, branch)
    place = Place(branch.repository, branch.name, branch.uid)
    commit = repository.commit(branch.name).id
    evidence = gather(context.instance, group, place)
    changes = committed_changes(repository, group, commit, branch.into)
    verdict = judge(repository.at(commit), group, evidence, changes)
    if not verdict.good:
        raise _kept(context, group, place, verdict)
    if group.require:
        require(repository, group, branch.into)
    report(repository, group, verdict, commit)
    what = MergeConfig(
        repository=branch.repository,
        source=commit,
        into=branch.into,
        message=_message(context.run),
        # Another publication may have added files to what this one replaces, and the merge would keep both.
        unchanged=evidence.replaced_in(verdict.changes.tables),
    )
    try:
        made = merged(context, what, branch.graveler, _merge_metadata(branch, verdict))
    except dg.Failure as refused:
        raise _kept(context, group, place, verdict, refused) from refused
    is_published = commit in repository.commit(made.value).parents
    state = PUBLISHED if is_published else NOTHING
    if is_published:
        _observe_tables(context, verdict, made.value)
    return made.value, {**made.metadata, STATE: state, "merged": branch.name, **_shown(verdict)}


def _observe_tables(context: dg.OpExecutionContext, verdict: Verdict, commit: str) -> None:
    """Tell the catalog the commit of each published table. An observation leaves the status of its checks as it is."""
    run = context.run
    several = context.has_partition_key or (RANGE_START_TAG in run.tags and RANGE_END_TAG in run.tags)
    for table in verdict.changes.tables:
        for partition in context.partition_keys if several else [None]:
            context.log_event(
                dg.AssetObservation(
                    table.key,
                    partition=partition,
                    description=f"Published as commit {commit}",
                    metadata={STATE: PUBLISHED, "commit": commit},
                    tags={DATA_VERSION_TAG: commit},
                )
            )


def _without_branch(
    context: dg.OpExecutionContext, publisher: Publisher, branch: GravelerBranch
) -> tuple[str, dict[str, Any]]:
    """Return the output of a run whose branch does not exist: it was published before, or nothing was written."""
    choice = branch.choice()
    before = Evidence()
    if choice is not None and choice.uid:
        before = gather(context.instance, publisher.group, Place(branch.repository, choice.name, choice.uid))
    if before.published:
        context.log.info("already published as commit %s", before.published)
        return before.published, {STATE: ALREADY, "commit": before.published, "merged": branch.name}
    if choice is not None and (choice.uid or choice.chosen is Chosen.TAG):
        raise dg.Failure(
            f"branch {branch.name!r} of repository {branch.repository!r} does not exist, and no publication of it is "
            "known: it was deleted, or nothing was written on it. Materialize the tables again.",
            metadata={"error": "NotFound"},
            allow_retries=False,
        )
    context.log.info(NOTHING)
    head = branch.open_repository().commit(branch.into).id
    return head, {STATE: NOTHING, "commit": head}


def _kept(
    context: dg.OpExecutionContext, group: TableGroup, place: Place, verdict: Verdict, refused: dg.Failure | None = None
) -> dg.Failure:
    reasons, advice = verdict.reasons, what_to_do(group, place, context.run)
    more = {} if refused is None else dict(refused.metadata)
    if refused is not None:
        reasons = (str(refused.description),)
        if str(getattr(more.get("kind"), "value", "")) in _LOST:
            reasons = (*reasons, "another run published the same data meanwhile")
            advice = run_again(group, place, context.run)
    return dg.Failure(
        description=kept(place, reasons, advice),
        metadata={**more, STATE: KEPT, "branch": place.branch, **_shown(verdict)},
        allow_retries=False,
    )


def _shown(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": dg.MetadataValue.md(verdict.markdown()), "checks": verdict.table()}


def _merge_metadata(branch: GravelerBranch, verdict: Verdict) -> dict[str, str]:
    tables = ", ".join(table.name for table in verdict.changes.tables)
    shown = {"branch": branch.name, "tables": tables, "checks": f"{len(verdict.findings)} accepted"}
    return {**shown, "check runs": ", ".join(verdict.runs)} if verdict.runs else shown


def _refuse_target(branch: GravelerBranch) -> None:
    if branch.name == branch.into:
        raise dg.Failure(
            f"the run works on {branch.into!r} itself, the branch to publish into: remove the run tag graveler/branch, "
            "or name another branch",
            allow_retries=False,
        )


def _message(run: dg.DagsterRun) -> str:
    return run.tags.get(MESSAGE_TAG) or f"Publish {partition_label(run) or 'tables'}"
