"""Compact branches with many tombstones or staged records, with orphaned sealed tokens, or after a failed run."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor


def compaction_sensors(job: dg.JobDefinition) -> list[dg.SensorDefinition]:
    """Return the sensors that start the compaction job.

    Args:
        job: The compaction job.
    """
    return [
        make_compaction_sensor(job),
        make_sealed_tokens_sensor(job),
        make_compaction_failure_sensor(job),
    ]
