"""Groups of run states, for sensors that request runs."""

from __future__ import annotations

import dagster as dg

UNDER_WAY = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
"""States of active runs. NOT_STARTED is excluded, because the daemon died after it created such a run. A new request
with the same key continues the run.
"""
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
