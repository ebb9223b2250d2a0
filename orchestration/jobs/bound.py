"""A job on one store. It has its resource itself: sensors and schedules that start it need no copy of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from orchestration.resources.graveler import GravelerResource


def bound_job(
    graph: dg.GraphDefinition,
    graveler: GravelerResource,
    description: str | None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
) -> dg.JobDefinition:
    """A graph as a job by the graph's name, all its steps in one process.

    Args:
        graph: Its ops use the resource `graveler`.
        graveler: The store.
        description: For people.
        given: What ops are configured with where a run says nothing else, by their names.
    """
    return graph.to_job(
        resource_defs={"graveler": graveler},
        executor_def=dg.in_process_executor,
        description=description,
        config=None if given is None else {"ops": {op: {"config": dict(config)} for op, config in given.items()}},
    )
