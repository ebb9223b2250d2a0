"""`completion_job`: completes a repository that was imported without indexes, according to its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.completing import OP, complete_migration
from dagster_graveler.resources.graveler import GravelerResource


def make_completion_job(graveler: GravelerResource, given: Mapping[str, Any] | None = None) -> dg.JobDefinition:
    """Return the job that completes a repository in one store.

    Args:
        graveler: The store.
        given: Default configuration: fields of `dagster_graveler.ops.completing.CompletionConfig`.

    Returns:
        The job `completion_job`.
    """
    return bound_job(
        dg.GraphDefinition(name="completion_job", node_defs=[complete_migration]),
        graveler,
        "Compute the indexes of a repository that was imported without them. A later run continues an interrupted one.",
        None if given is None else {OP: given},
    )
