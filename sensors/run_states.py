"""States of runs, as sensors tell them apart that ask for runs."""

from __future__ import annotations

import dagster as dg

UNDER_WAY = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
"""Not NOT_STARTED: that is a request whose daemon died; asked for again with the same key, it is taken up."""
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
