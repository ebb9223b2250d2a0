"""`compaction_job`: compacts one branch. Sensors start it, and users may, with the branch in the configuration."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.compaction import compact_branch
from dagster_graveler.resources.graveler import GravelerResource


def make_compaction_job(graveler: GravelerResource) -> dg.JobDefinition:
    """Return the compaction job for one store.

    Args:
        graveler: The store. A `SparkGravelerResource` runs large compactions on Spark.

    Returns:
        The job `compaction_job`. The sensors of compaction request its runs.
    """
    return bound_job(
        dg.GraphDefinition(name="compaction_job", node_defs=[compact_branch]),
        graveler,
        "Compact the staged changes of one branch into one tree, so that reads are fast again. "
        "Does not change what readers see.",
    )
