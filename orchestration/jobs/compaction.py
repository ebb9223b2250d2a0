"""`compaction_job`: one branch compacted. Sensors start it; people may, with the branch in its configuration."""

from __future__ import annotations

import dagster as dg

from orchestration.ops.compaction import compact_branch
from orchestration.resources.graveler import GravelerResource


@dg.graph
def compaction() -> None:
    """One op."""
    compact_branch()


def make_compaction_job(graveler: GravelerResource) -> dg.JobDefinition:
    """The job, on one store. It has its resource itself, so that sensors that start it need no copy of theirs.

    Args:
        graveler: Where the branches are.
    """
    return compaction.to_job(
        name="compaction_job",
        resource_defs={"graveler": graveler},
        executor_def=dg.in_process_executor,
        description="Fold what is staged on one branch into one tree, so that reading it is fast again. "
        "Changes nothing that anybody reads.",
    )
