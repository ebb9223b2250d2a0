"""`compaction_job`: one branch compacted. Sensors start it; people may, with the branch in its configuration."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs.bound import bound_job
from orchestration.ops.compaction import compact_branch
from orchestration.resources.graveler import GravelerResource


def make_compaction_job(graveler: GravelerResource) -> dg.JobDefinition:
    """The job, on one store.

    Args:
        graveler: Where the branches are; a `SparkGravelerResource` gives what is large to Spark.
    """
    return bound_job(
        dg.GraphDefinition(name="compaction_job", node_defs=[compact_branch]),
        graveler,
        "Fold what is staged on one branch into one tree, so that reading it is fast again. "
        "Changes nothing that anybody reads.",
    )
