"""`import_job`: one place imported into one branch, as its configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from orchestration.jobs.bound import bound_job
from orchestration.ops.importing import OP, import_objects
from orchestration.resources.graveler import GravelerResource


def make_import_job(graveler: GravelerResource, given: Mapping[str, Any] | None = None) -> dg.JobDefinition:
    """The job, on one store.

    Args:
        graveler: Where the repositories are; a `SparkGravelerResource` gives what is large to Spark.
        given: What is imported where a run says nothing else: the fields of `orchestration.ops.importing.Import`.
    """
    return bound_job(
        dg.GraphDefinition(name="import_job", node_defs=[import_objects]),
        graveler,
        "Take objects that lie in an object store into a branch, in one commit, copying nothing. "
        "A second run finds what changed since.",
        None if given is None else {OP: given},
    )
