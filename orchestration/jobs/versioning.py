"""`commit_job`, `merge_job`, `diff_job`: the verbs on any branch, for people at the launchpad and for schedules."""

from __future__ import annotations

import dagster as dg

from orchestration.ops.commit import commit
from orchestration.ops.diff import diff
from orchestration.ops.merge import merge
from orchestration.resources.graveler import GravelerResource


def make_versioning_jobs(graveler: GravelerResource) -> list[dg.JobDefinition]:
    """A job for each of the three, on one store.

    Args:
        graveler: Where the branches are; a `SparkGravelerResource` gives what is large to Spark.
    """
    return [_job(op, graveler) for op in (commit, merge, diff)]


def _job(op: dg.OpDefinition, graveler: GravelerResource) -> dg.JobDefinition:
    def one() -> None:
        op()

    return dg.job(
        name=f"{op.name}_job",
        description=op.description,
        resource_defs={"graveler": graveler},
        executor_def=dg.in_process_executor,
    )(one)
