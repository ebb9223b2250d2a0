"""Job that deletes the branches of a branch deployment, for example when its pull request is closed."""

from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.deployments import deployment_branch
from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.failures import RETRIES, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository


class DeploymentConfig(dg.Config):
    """Deployment whose branches are deleted."""

    repository: str
    git_branch: str
    """Git branch of the deployment, such as `feature/x`."""
    expected: str = ""
    """Id of the commit that the head of the deployment's branch must be. "" accepts any head."""


@dg.op(description="Delete the branch of a branch deployment, and those of its runs.", retry_policy=RETRIES)
def delete_deployment_branch(
    context: dg.OpExecutionContext, config: DeploymentConfig, graveler: GravelerResource
) -> None:
    """Delete the branch, and the branches whose names begin with its name and a dot.

    A branch that does not exist is no error. An unexpected head is an error.
    """
    branch = deployment_branch(config.git_branch)
    with told_to_dagster(context.retry_number):
        repository = graveler.graveler().repository(config.repository)
        deleted = _delete(repository, branch, config.expected or None)
        of_runs = [_delete(repository, each.id) for each in list(repository.branches(f"{branch}."))]
    context.add_output_metadata({"branch": branch, "deleted": deleted, "deleted branches of runs": sum(of_runs)})


def _delete(repository: "Repository", branch: str, expected: str | None = None) -> bool:
    """Delete a branch. Return false if it does not exist."""
    from graveler_core.errors import Kind, NotFound

    try:
        repository.delete_branch(branch, expected=expected)
    except NotFound as missing:
        if missing.kind is not Kind.BranchNotFound:
            raise
        return False
    return True


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
        "Delete the branch into which a branch deployment published its tables, and the branches whose names begin "
        "with its name and a dot. Configure the repository and the Git branch of the closed pull request. The branches "
        "of other deployments do not change.",
    )
