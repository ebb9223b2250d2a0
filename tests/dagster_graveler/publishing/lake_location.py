"""The small lake as a code location, for processes that find it by its module."""

import dagster as dg

from tests.dagster_graveler.publishing.small_lake import lake

defs = lake(dg.EnvVar("LAKE_STORE"), dg.EnvVar("LAKE_DATA"))


def parallel_lake() -> dg.JobDefinition:
    """Return the job of the whole group with one process for each step."""
    job = dg.define_asset_job("parallel", dg.AssetSelection.groups("lake"), executor_def=dg.multiprocess_executor)
    return dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("parallel")
