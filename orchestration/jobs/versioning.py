"""`commit_job`, `merge_job`, `diff_job`: the verbs on any branch, for people at the launchpad and for schedules."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs.bound import bound_job
from orchestration.ops.commit import commit
from orchestration.ops.diff import diff
from orchestration.ops.merge import merge
from orchestration.resources.graveler import GravelerResource


def make_versioning_jobs(graveler: GravelerResource, repository: str | None = None) -> list[dg.JobDefinition]:
    """A job for each of the three, on one store.

    Args:
        graveler: Where the branches are; a `SparkGravelerResource` gives what is large to Spark.
        repository: Where `diff_job` compares `main` with its commit before, if a run says nothing else.
    """
    newest = {"repository": repository, "left": "main~1", "right": "main"}
    given = {} if repository is None else {diff.name: {diff.name: newest}}
    return [
        bound_job(
            dg.GraphDefinition(name=f"{op.name}_job", node_defs=[op]), graveler, op.description, given.get(op.name)
        )
        for op in (commit, merge, diff)
    ]
