"""The publishing ops alone, as a job: what they do with a branch does not depend on who wrote it, nor on Spark."""

from __future__ import annotations

import dagster as dg

from orchestration.assets.published import flights_main
from orchestration.resources.graveler import GravelerResource
from orchestration.resources.run_branch import RunBranch

BRANCH = "dev"


def publish_only() -> dg.JobDefinition:
    """Commits and merges the branch that the run tag names."""
    graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
    branch = RunBranch(graveler=graveler, repository="flights", storage_root=dg.EnvVar("GRAVELER_DATA"))
    job = dg.define_asset_job("publish_only", [flights_main], executor_def=dg.in_process_executor)
    return dg.Definitions([flights_main], jobs=[job], resources={"branch": branch}).resolve_job_def("publish_only")
