"""Job that deletes the branch of a branch deployment, for example when its pull request is closed."""

import dagster as dg

from dagster_graveler.deployments import deployment_branch
from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.failures import RETRIES, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource


class DeploymentConfig(dg.Config):
    """Deployment whose branch is deleted."""

    repository: str
    git_branch: str
    """Git branch of the deployment, such as `feature/x`."""
    expected: str = ""
    """Id of the commit that the head of the branch must be. "" accepts any head."""


@dg.op(description="Delete the branch into which a branch deployment published.", retry_policy=RETRIES)
def delete_deployment_branch(
    context: dg.OpExecutionContext, config: DeploymentConfig, graveler: GravelerResource
) -> None:
    """Delete the branch. A branch that does not exist is no error. An unexpected head is an error."""
    from graveler_core.errors import Kind, NotFound

    branch = deployment_branch(config.git_branch)
    deleted = True
    with told_to_dagster(context.retry_number):
        try:
            graveler.graveler().repository(config.repository).delete_branch(branch, expected=config.expected or None)
        except NotFound as missing:
            if missing.kind is not Kind.BranchNotFound:
                raise
            deleted = False
    context.add_output_metadata({"branch": branch, "deleted": deleted})


def make_delete_deployment_job(graveler: GravelerResource) -> dg.JobDefinition:
    """Return the job `delete_deployment_job`. Run it in production, because the deployment itself is gone.

    Args:
        graveler: The connection.

    Returns:
        The job. Each run needs the repository and the Git branch in its configuration.
    """

    return bound_job(
        dg.GraphDefinition(name="delete_deployment_job", node_defs=[delete_deployment_branch]),
        graveler,
        "Delete the branch into which a branch deployment published its tables. Configure the repository and the Git "
        "branch of the closed pull request. The branches of other deployments do not change.",
    )
