"""A code location on a store that wants credentials: each user has a job of its own, one schedule starts them all.

`test_credentials_daemon` has the real daemon load it.
"""

from __future__ import annotations

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.commit import commit
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor

USERS = ("grace", "eve", "mallory")


def resource(user: str) -> GravelerResource:
    """The store as one user opens it."""
    return GravelerResource(
        url=dg.EnvVar("GRAVELER_STORE"),
        access_key_id=dg.EnvVar(f"{user.upper()}_KEY"),
        secret_access_key=dg.EnvVar(f"{user.upper()}_SECRET"),
    )


jobs = [
    bound_job(
        dg.GraphDefinition(name=f"commit_by_{user}", node_defs=[commit]),
        resource(user),
        None,
        {"commit": {"repository": "lake", "branch": f"of-{user}", "message": f"By {user}"}},
    )
    for user in USERS
]
branches = dg.AssetSpec(
    dg.AssetKey(["lake", "branches"]), partitions_def=dg.DynamicPartitionsDefinition(name="lake/branches")
)


@dg.sensor(jobs=jobs, minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.RUNNING)
def staged(graveler: GravelerResource) -> list[dg.RunRequest]:
    """Have each user commit, once, as soon as there is something to commit."""
    lake = graveler.graveler().repository("lake")
    ready = [user for user in USERS if next(lake.branch(f"of-{user}").uncommitted(limit=1), None)]
    return [dg.RunRequest(run_key=user, job_name=f"commit_by_{user}") for user in ready]


defs = dg.Definitions(
    assets=[branches],
    jobs=jobs,
    sensors=[staged, make_branch_heads_sensor(branches, repository="lake", interval_seconds=1)],
    resources={"graveler": resource("grace")},
)
