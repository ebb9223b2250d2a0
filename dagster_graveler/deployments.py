"""Branches for the branch deployments of Dagster+: each deployment publishes into a branch of its own."""

from __future__ import annotations

import hashlib
import os
import re

PREFIX = "deploy-"
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]+")
_SLUG_CHARACTERS = 40
_HASH_DIGITS = 8


def branch_for_deployment(default: str = "main") -> str:
    """Return the branch into which this deployment publishes, for `GravelerBranch(into=…)`.

    The result depends on the environment variables that Dagster+ sets. Set `default_branch` of `GravelerBranch`, too:
    the branch of a deployment is created from it at first use.

    Args:
        default: Branch of all deployments that are not branch deployments.

    Returns:
        `deploy-<git branch>-<hash>` in a branch deployment, otherwise `default`.

    Raises:
        InvalidInput: A branch deployment has no name.
    """
    from graveler_core.errors import InvalidInput

    if os.environ.get("DAGSTER_CLOUD_IS_BRANCH_DEPLOYMENT") != "1":
        return default
    named = os.environ.get("DAGSTER_CLOUD_GIT_BRANCH") or os.environ.get("DAGSTER_CLOUD_DEPLOYMENT_NAME")
    if not named:
        raise InvalidInput(
            "branch deployment: DAGSTER_CLOUD_GIT_BRANCH or DAGSTER_CLOUD_DEPLOYMENT_NAME must name the deployment"
        )
    return deployment_branch(named)


def deployment_branch(git_branch: str) -> str:
    """Return the branch of the deployment for a Git branch. Different Git branches have different ones.

    Args:
        git_branch: Name of the Git branch, such as `feature/x`.
    """
    slug = _NOT_ALLOWED.sub("-", git_branch)[:_SLUG_CHARACTERS].strip("-")
    digest = hashlib.sha256(git_branch.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{PREFIX}{slug}-{digest}" if slug else f"{PREFIX}{digest}"
