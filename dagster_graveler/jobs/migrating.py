"""`lakefs_migration_job`: migrates a repository of lakeFS according to its configuration. A later run migrates what is
new since then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.migrating import OP, migrate_lakefs
from dagster_graveler.resources.graveler import GravelerResource


def make_lakefs_migration_job(graveler: GravelerResource, given: Mapping[str, Any] | None = None) -> dg.JobDefinition:
    """Return the job that migrates from lakeFS into one store.

    Args:
        graveler: The store.
        given: Default configuration: fields of `dagster_graveler.ops.migrating.LakefsMigrationConfig`.

    Returns:
        The job `lakefs_migration_job`.
    """
    return bound_job(
        dg.GraphDefinition(name="lakefs_migration_job", node_defs=[migrate_lakefs]),
        graveler,
        "Migrate a repository of lakeFS. A later run brings what is new in lakeFS since then.",
        None if given is None else {OP: given},
    )
