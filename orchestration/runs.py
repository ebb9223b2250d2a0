"""Which publication a run belongs to, and what to call it. Pure questions about Dagster's run records.

A run that resumes another (re-execution from failure or from selected steps) goes on with what the first one wrote; a
re-execution of everything is a publication of its own.
"""

from __future__ import annotations

import dagster as dg

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
MESSAGE_TAG = "graveler/message"
"""Run tag: the message of the commit."""


def origin_run_id(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """The run that began the publication: the run itself, or the one that it resumes, however often resumed."""
    while run.parent_run_id and run.step_keys_to_execute is not None:
        parent = instance.get_run_by_id(run.parent_run_id)
        if parent is None:
            return run.parent_run_id
        run = parent
    return run.run_id


def partition_label(run: dg.DagsterRun, to: str = " to ") -> str:
    """`2013-01`, `2013-01 to 2013-11`, or empty for a run without partitions; `to` stands between two."""
    first, last = run.tags.get(RANGE_START_TAG), run.tags.get(RANGE_END_TAG)
    if first and last:
        return first if first == last else f"{first}{to}{last}"
    return run.tags.get(PARTITION_TAG, "")


def step_name(context: dg.OpExecutionContext) -> str:
    """The step's key, as Dagster's events have it."""
    mapped = context.get_mapping_key()
    return str(context.op_handle) if mapped is None else f"{context.op_handle}[{mapped}]"


def step_key(context: dg.OpExecutionContext) -> str:
    """What an op's work is known by, however often it is tried or the run is resumed: the run that began, the step."""
    return f"{origin_run_id(context.instance, context.run)}/{step_name(context)}"


def run_metadata(context: dg.OpExecutionContext) -> dict[str, str]:
    """What leads from a commit back to the run that made it."""
    leads = {"run": context.run_id, "job": context.job_name, "step": step_name(context)}
    label = partition_label(context.run)
    return {**leads, "partition": label} if label else leads
