"""Identification of publications in Dagster's run records.

A run that resumes another one (re-execution from failure or of selected steps) continues with the data that the first
one wrote. A re-execution of everything is a publication of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.run_tags import CHOSEN_TAG, PUBLISH_TAG, MarkedBranch, branch_mark, created_mark

if TYPE_CHECKING:
    from graveler_core.model.entities import BranchRecord

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
MESSAGE_TAG = "graveler/message"
"""Run tag with the commit message."""
_FAILED_ASSETS_TAG = "dagster/is_asset_resume_retry"
"""Tag of Dagster for re-executions of the failed assets, which have no list of steps."""


def is_resumption(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return true if a run repeats some steps of another run, or the assets that failed in it.

    Dagster copies its tag for failed assets into re-executions of all steps. Such a run has the assets and checks of
    its parent. If the parent succeeded, the run repeats all of them.

    Args:
        instance: The instance of the run.
        run: The run.
    """
    if not run.parent_run_id or run.step_keys_to_execute is not None:
        return bool(run.parent_run_id)
    if run.tags.get(_FAILED_ASSETS_TAG) != "true":
        return False
    parent = instance.get_run_by_id(run.parent_run_id)
    return (
        parent is None
        or parent.status is not dg.DagsterRunStatus.SUCCESS
        or parent.tags.get(_FAILED_ASSETS_TAG) != "true"
        or (run.asset_selection, run.asset_check_selection) != (parent.asset_selection, parent.asset_check_selection)
    )


def origin_run(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRun | None:
    """Return the run that began the publication: this run, or the one that it resumes, directly or indirectly. `None`
    if a run of the chain was deleted.
    """
    while is_resumption(instance, run):
        parent = instance.get_run_by_id(run.parent_run_id or "")
        if parent is None:
            return None
        run = parent
    return run


def origin_run_id(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return the id of the run that began the publication, or the oldest known id of the chain."""
    while is_resumption(instance, run):
        parent = instance.get_run_by_id(run.parent_run_id or "")
        if parent is None:
            return run.parent_run_id or run.run_id
        run = parent
    return run.run_id


def is_created_by_run(instance: dg.DagsterInstance, repository: str, branch: MarkedBranch) -> bool:
    """Return true if a run has created a branch. People and other programs may need branches that they created.

    Runs of former versions do not tell it. They created the branches whose names they took from the template.

    Args:
        instance: The instance of the runs.
        repository: Name of the repository.
        branch: The branch.
    """
    if instance.get_run_ids(dg.RunsFilter(tags=created_mark(repository, branch.uid)), limit=1):
        return True
    by_template = {**branch_mark(repository, branch), CHOSEN_TAG: "template"}
    return any(PUBLISH_TAG in run.tags for run in instance.get_runs(dg.RunsFilter(tags=by_template)))


def is_created_since_start(instance: dg.DagsterInstance, run: dg.DagsterRun, branch: BranchRecord) -> bool:
    """Return true if a branch was created after the run began, or after the run began that it resumes.

    It is false if one of the times is not known.

    Args:
        instance: The instance of the run.
        run: The run.
        branch: The branch.
    """
    from graveler_core.model.past import CREATED, steps

    first = instance.get_run_record_by_id(origin_run_id(instance, run))
    times = [step.time.timestamp() for step in steps(branch.past, f"branch {branch.id}") if step.mark == CREATED]
    return first is not None and first.start_time is not None and any(time >= first.start_time for time in times)


def planned_assets(instance: dg.DagsterInstance, run_id: str) -> frozenset[dg.AssetKey]:
    """Return the assets that a run was created to materialize."""
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED)
    found = (event.dagster_event.asset_key for event in events if event.dagster_event)
    return frozenset(key for key in found if key is not None)


def planned_checks(instance: dg.DagsterInstance, run_id: str) -> frozenset[dg.AssetCheckKey]:
    """Return the checks that a run was created to evaluate."""
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    planned = (event.dagster_event.asset_check_planned_data for event in events if event.dagster_event)
    return frozenset(dg.AssetCheckKey(each.asset_key, each.check_name) for each in planned)


def range_of_checks(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[dg.AssetCheckKey, frozenset[str]]:
    """Return the partitions that a run over a range of partitions was created to check, for each partitioned check.

    Args:
        instance: The instance of the run.
        run: The run. One without a range of partitions gives nothing.
    """
    if RANGE_START_TAG not in run.tags:
        return {}
    events = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    planned = (event.dagster_event.asset_check_planned_data for event in events if event.dagster_event)
    return {
        each.asset_check_key: frozenset(each.partitions_subset.get_partition_keys())
        for each in planned
        if each.partitions_subset is not None
    }


def partition_label(run: dg.DagsterRun, to: str = " to ") -> str:
    """Return `2013-01`, `2013-01 to 2013-11`, or an empty text for a run without partitions.

    Args:
        run: The run.
        to: Text between the first and the last partition.
    """
    first, last = run.tags.get(RANGE_START_TAG), run.tags.get(RANGE_END_TAG)
    if first and last:
        return first if first == last else f"{first}{to}{last}"
    return run.tags.get(PARTITION_TAG, "")


def partition_tags(run: dg.DagsterRun) -> list[dict[str, str]]:
    """Return the tags by which runs with the same partitions are found: they have all tags of one of the mappings.

    A run of one partition names it as a partition, or as a range. For a run without partitions, there is nothing to
    search by.

    Args:
        run: The run.
    """
    first, last = run.tags.get(RANGE_START_TAG), run.tags.get(RANGE_END_TAG)
    if not (first and last):
        first = last = run.tags.get(PARTITION_TAG, "")
    if not first:
        return [{}]
    of_range = {RANGE_START_TAG: first, RANGE_END_TAG: last}
    return [{PARTITION_TAG: first}, of_range] if first == last else [of_range]


def step_name(context: dg.OpExecutionContext) -> str:
    """Return the key of the step, as in Dagster's events."""
    mapped = context.get_mapping_key()
    return str(context.op_handle) if mapped is None else f"{context.op_handle}[{mapped}]"


def step_key(context: dg.OpExecutionContext) -> str:
    """Return the key of an op's work over all attempts and resumed runs: the first run and the step."""
    return f"{origin_run_id(context.instance, context.run)}/{step_name(context)}"


def run_metadata(context: dg.OpExecutionContext) -> dict[str, str]:
    """Return commit metadata that leads back to the run."""
    leads = {"run": context.run_id, "job": context.job_name, "step": step_name(context)}
    label = partition_label(context.run)
    return {**leads, "partition": label} if label else leads
