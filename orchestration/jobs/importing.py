"""`import_job`: one place imported into one branch, as its configuration says."""

from __future__ import annotations

import dagster as dg

from orchestration.ops.importing import import_objects
from orchestration.resources.graveler import GravelerResource


@dg.graph
def importing() -> None:
    """One op."""
    import_objects()


def make_import_job(graveler: GravelerResource) -> dg.JobDefinition:
    """The job, on one store.

    Args:
        graveler: Where the repositories are.
    """
    return importing.to_job(
        name="import_job",
        resource_defs={"graveler": graveler},
        executor_def=dg.in_process_executor,
        description="Take objects that lie in an object store into a branch, in one commit, copying nothing. "
        "A second run finds what changed since.",
    )
