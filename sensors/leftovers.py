"""Start the cleaning job early if many deleted repositories are waiting."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.sensors.leftovers import make_leftovers_sensor


def leftovers_sensor(job: dg.JobDefinition) -> dg.SensorDefinition:
    """Return the sensor that starts the cleaning job.

    Args:
        job: The cleaning job.
    """
    return make_leftovers_sensor(job)
