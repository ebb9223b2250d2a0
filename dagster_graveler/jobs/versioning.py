"""`commit_job`, `merge_job` and `diff_job`: these operations on any branch, for the launchpad and for schedules."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.commit import commit
from dagster_graveler.ops.diff import diff
from dagster_graveler.ops.merge import merge
from dagster_graveler.resources.graveler import GravelerResource


def make_versioning_jobs(graveler: GravelerResource, repository: str | None = None) -> list[dg.JobDefinition]:
    """Return the three jobs for one store.

    Args:
        graveler: The store. A `SparkGravelerResource` runs large operations on Spark.
        repository: Default repository of `diff_job`, which then compares `main` with its previous commit.

    Returns:
        The jobs `commit_job`, `merge_job` and `diff_job`.
    """
    newest = {"repository": repository, "left": "main~1", "right": "main"}
    given = {} if repository is None else {diff.name: {diff.name: newest}}
    return [
        bound_job(
            dg.GraphDefinition(name=f"{op.name}_job", node_defs=[op]), graveler, op.description, given.get(op.name)
        )
        for op in (commit, merge, diff)
    ]
