"""graveler for Dagster: resources, an IO manager, and factories for assets, checks, sensors, jobs and schedules.

A module is imported when one of its names is used. So a code location loads only the modules that it needs, and Spark,
polars and other libraries only if it uses them.
"""

from typing import TYPE_CHECKING

from dagster_graveler.library import __version__

if TYPE_CHECKING:
    from dagster_graveler.assets.branches import make_branches_asset
    from dagster_graveler.assets.leftovers import make_leftovers_asset
    from dagster_graveler.assets.pressure import make_pressure_asset
    from dagster_graveler.assets.storage import make_storage_asset
    from dagster_graveler.checks.doctor import make_doctor_check
    from dagster_graveler.checks.leftovers import make_leftovers_check
    from dagster_graveler.checks.pressure import make_pressure_check
    from dagster_graveler.checks.storage import make_storage_check
    from dagster_graveler.components.lake import GravelerLakeComponent
    from dagster_graveler.data_version import reported_commit
    from dagster_graveler.deployments import branch_for_deployment
    from dagster_graveler.io_managers.graveler import GravelerIOManager
    from dagster_graveler.jobs.cleaning import make_cleaning_job, make_cleaning_schedule
    from dagster_graveler.jobs.collection import make_collection_job, make_collection_schedule
    from dagster_graveler.jobs.compaction import make_compaction_job
    from dagster_graveler.jobs.completing import make_completion_job
    from dagster_graveler.jobs.deployments import make_delete_deployment_job
    from dagster_graveler.jobs.hooks import make_hooks_job, make_hooks_schedule
    from dagster_graveler.jobs.importing import make_import_job
    from dagster_graveler.jobs.migrating import make_lakefs_migration_job
    from dagster_graveler.jobs.namespaces import make_namespaces_job, make_namespaces_schedule
    from dagster_graveler.jobs.pressure import make_pressure_schedule
    from dagster_graveler.jobs.sweep import make_sweep_job, make_sweep_schedule
    from dagster_graveler.jobs.versioning import make_versioning_jobs
    from dagster_graveler.publishing.publish_in_order import PublishTarget, publish_in_order
    from dagster_graveler.publishing.write_audit_publish import write_audit_publish
    from dagster_graveler.resources.graveler import GravelerResource
    from dagster_graveler.resources.graveler_branch import GravelerBranch
    from dagster_graveler.resources.spark_graveler import SparkGravelerResource
    from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor
    from dagster_graveler.sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
    from dagster_graveler.sensors.leftovers import make_leftovers_sensor
    from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor

__all__ = [
    "GravelerBranch",
    "GravelerIOManager",
    "GravelerLakeComponent",
    "GravelerResource",
    "PublishTarget",
    "SparkGravelerResource",
    "__version__",
    "branch_for_deployment",
    "make_branch_heads_sensor",
    "make_branches_asset",
    "make_cleaning_job",
    "make_cleaning_schedule",
    "make_collection_job",
    "make_collection_schedule",
    "make_compaction_failure_sensor",
    "make_compaction_job",
    "make_compaction_sensor",
    "make_completion_job",
    "make_delete_deployment_job",
    "make_doctor_check",
    "make_hooks_job",
    "make_hooks_schedule",
    "make_import_job",
    "make_lakefs_migration_job",
    "make_leftovers_asset",
    "make_leftovers_check",
    "make_leftovers_sensor",
    "make_namespaces_job",
    "make_namespaces_schedule",
    "make_pressure_asset",
    "make_pressure_check",
    "make_pressure_schedule",
    "make_sealed_tokens_sensor",
    "make_storage_asset",
    "make_storage_check",
    "make_sweep_job",
    "make_sweep_schedule",
    "make_versioning_jobs",
    "publish_in_order",
    "reported_commit",
    "write_audit_publish",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Return a public name from the module that defines it."""
        from dagster_graveler.public_names import public_value

        return public_value(name)
