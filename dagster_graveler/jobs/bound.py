"""Jobs with bound resources, so that sensors and schedules that start them need no resource of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_graveler.resources.graveler import GravelerResource


def bound_job(
    graph: dg.GraphDefinition,
    graveler: GravelerResource,
    description: str | None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
) -> dg.JobDefinition:
    """Return a graph as a job with the same name, which runs all steps in one process.

    The job has an IO manager of its own. Otherwise it would use the `io_manager` of the project, which may store only
    assets.

    Args:
        graph: Graph of ops that use the resource `graveler`.
        graveler: The store.
        description: Description for the UI.
        given: Default configuration of ops, by name.
    """
    return graph.to_job(
        resource_defs={"graveler": graveler, "io_manager": dg.FilesystemIOManager()},
        executor_def=dg.in_process_executor,
        description=description,
        config=None if given is None else {"ops": {op: {"config": dict(config)} for op, config in given.items()}},
    )
