"""`import_job`: imports objects into a branch, according to its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.importing import OP, import_objects
from dagster_graveler.resources.graveler import GravelerResource


def make_import_job(graveler: GravelerResource, given: Mapping[str, Any] | None = None) -> dg.JobDefinition:
    """Return the import job for one store.

    Args:
        graveler: The store. A `SparkGravelerResource` runs large imports on Spark.
        given: Default configuration: fields of `dagster_graveler.ops.importing.ImportConfig`.

    Returns:
        The job `import_job`.
    """
    return bound_job(
        dg.GraphDefinition(name="import_job", node_defs=[import_objects]),
        graveler,
        "Import existing objects of an object store into a branch, in one commit, without copying them. "
        "A later run imports the changes since then.",
        None if given is None else {OP: given},
    )
