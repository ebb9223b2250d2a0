"""Public names of the package, with the modules that define them. A module is imported when a name is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PUBLIC_NAMES = {
    "GravelerBranch": "resources.graveler_branch",
    "GravelerIOManager": "io_managers.graveler",
    "GravelerLakeComponent": "components.lake",
    "GravelerResource": "resources.graveler",
    "PublishTarget": "publishing.publish_in_order",
    "SparkGravelerResource": "resources.spark_graveler",
    "branch_for_deployment": "deployments",
    "make_branch_heads_sensor": "sensors.branch_heads",
    "make_branches_asset": "assets.branches",
    "make_cleaning_job": "jobs.cleaning",
    "make_cleaning_schedule": "jobs.cleaning",
    "make_collection_job": "jobs.collection",
    "make_collection_schedule": "jobs.collection",
    "make_compaction_failure_sensor": "sensors.compaction",
    "make_compaction_job": "jobs.compaction",
    "make_compaction_sensor": "sensors.compaction",
    "make_completion_job": "jobs.completing",
    "make_delete_deployment_job": "jobs.deployments",
    "make_doctor_check": "checks.doctor",
    "make_hooks_job": "jobs.hooks",
    "make_hooks_schedule": "jobs.hooks",
    "make_import_job": "jobs.importing",
    "make_lakefs_migration_job": "jobs.migrating",
    "make_leftovers_asset": "assets.leftovers",
    "make_leftovers_check": "checks.leftovers",
    "make_leftovers_sensor": "sensors.leftovers",
    "make_namespaces_job": "jobs.namespaces",
    "make_namespaces_schedule": "jobs.namespaces",
    "make_pressure_asset": "assets.pressure",
    "make_pressure_check": "checks.pressure",
    "make_pressure_schedule": "jobs.pressure",
    "make_sealed_tokens_sensor": "sensors.sealed_tokens",
    "make_storage_asset": "assets.storage",
    "make_storage_check": "checks.storage",
    "make_sweep_job": "jobs.sweep",
    "make_sweep_schedule": "jobs.sweep",
    "make_versioning_jobs": "jobs.versioning",
    "publish_in_order": "publishing.publish_in_order",
    "reported_commit": "data_version",
    "write_audit_publish": "publishing.write_audit_publish",
}


def public_value(name: str) -> Any:
    """Return the value of a public name.

    Args:
        name: The name, an attribute of `dagster_graveler`.

    Raises:
        AttributeError: The name is not public.
    """
    if name not in PUBLIC_NAMES:
        raise AttributeError(f"module 'dagster_graveler' has no attribute {name!r}")
    return getattr(import_module(f"dagster_graveler.{PUBLIC_NAMES[name]}"), name)
