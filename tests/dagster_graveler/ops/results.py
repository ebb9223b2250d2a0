"""A job run in this process, and what its result says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def ran(
    job: dg.JobDefinition, instance: dg.DagsterInstance, ops: Mapping[str, Mapping[str, Any]] | None = None
) -> dg.ExecuteInProcessResult:
    """Run a job; `ops` configures its ops by their names."""
    config = {"ops": {op: {"config": dict(given)} for op, given in ops.items()}} if ops else {}
    return job.execute_in_process(instance=instance, run_config={**_QUIET, **config}, raise_on_error=False)


def said(result: dg.ExecuteInProcessResult, step: str | None = None) -> Mapping[str, Any]:
    """The output metadata of a step, or of the only one."""
    outputs = [e for e in result.all_events if e.is_successful_output and (step is None or e.step_key == step)]
    (output,) = outputs
    return {name: value.value for name, value in output.step_output_data.metadata.items()}


def retried(result: dg.ExecuteInProcessResult) -> int:
    """How often a step was asked to be tried again."""
    return len(result.filter_events(lambda event: event.event_type is dg.DagsterEventType.STEP_UP_FOR_RETRY))
