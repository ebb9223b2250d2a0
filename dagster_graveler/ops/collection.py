"""Collect content of one repository to which nothing refers. Idempotent: it continues an interrupted collection."""

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster, unless_missing
from dagster_graveler.ops.progress import logged_progress
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import CHECK, GRACE, SHARE, evaluated, reclaimable, storage_key, storage_metadata, stored

if TYPE_CHECKING:
    from graveler_core.gc.collected import Collected

OP = "collect"
POOL = "graveler_collection"
"""Dagster pool of all collections and sweeps. Its limit, if set, bounds the number of concurrent ones."""


class CollectionConfig(dg.Config):
    """Configuration of a collection."""

    repository: str = Field(description="Name of the repository.")
    dry_run: bool = Field(
        default=True, description="Only report what a collection would do. Set it to false to delete content."
    )
    grace_hours: float = Field(
        default=GRACE / timedelta(hours=1),
        ge=0.0,
        description="Least age of content to condemn, and least time between condemning and deleting, in hours. It "
        "must be longer than any upload or write, and at least 24 unless `alone` is true.",
    )
    alone: bool = Field(default=False, description="Assert that no other process works on the repository.")
    foreign: bool = Field(
        default=False, description="Also collect objects that other programs wrote into the storage namespace."
    )
    inventory: str | None = Field(
        default=None,
        description="URI of an inventory to read instead of listing the storage namespace: a manifest of S3 Inventory, "
        "or Parquet files.",
    )
    allowed_share: float = Field(
        default=SHARE,
        ge=0.0,
        le=1.0,
        description="Share of the content from which on reclaimable bytes fail the check of the storage.",
    )


@dg.op(
    name=OP,
    description="Condemn content to which nothing refers, and delete what was condemned before the grace period. In a "
    "dry run, which is the default, only report it.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
    pool=POOL,
)
def collect_content(context: dg.OpExecutionContext, config: CollectionConfig, graveler: GravelerResource) -> None:
    """Collect, and report the result to the asset of the storage. Succeeds if the repository does not exist."""
    start = time.monotonic()
    report = graveler.report(context.log.info, "collection")
    with told_to_dagster(context.retry_number):
        done = unless_missing(lambda: _collected(context, config, graveler))
    shown = storage_metadata(context.instance, config.repository, done)
    context.log.info(shown["outcome"])
    facts = {"seconds": time.monotonic() - start, **report.facts(), **retries(context)}
    context.add_output_metadata({**shown, **_numbers(done), **facts})
    if done is not None:
        key = storage_key(config.repository)
        context.log_event(dg.AssetMaterialization(key, shown["outcome"], shown))
        result = evaluated(datetime.now(UTC), stored(done), reclaimable(done), config.allowed_share)
        context.instance.report_runless_asset_event(dg.AssetCheckEvaluation(asset_key=key, check_name=CHECK, **result))


def _collected(context: dg.OpExecutionContext, config: CollectionConfig, graveler: GravelerResource) -> "Collected":
    return (
        graveler.graveler()
        .repository(config.repository)
        .collect(
            grace=timedelta(hours=config.grace_hours),
            dry_run=config.dry_run,
            alone=config.alone,
            foreign=config.foreign,
            inventory=config.inventory,
            progress=logged_progress(context, "items examined"),
        )
    )


def _numbers(done: "Collected | None") -> dict[str, Any]:
    """Return the numbers of a collection as metadata. Those of a dry run have other names."""
    if done is None:
        return {}
    would = "would be " if done.dry_run else ""
    return {
        "dry run": done.dry_run,
        f"objects {would}deleted": done.deleted,
        f"bytes {would}deleted": done.deleted_size,
        f"objects {would}condemned": done.condemned,
        f"bytes {would}condemned": done.condemned_size,
        "objects spared": done.spared,
        "objects waiting": done.waiting,
        "bytes waiting": done.waiting_size,
        f"commits {would}removed": done.removed,
        f"commits {would}announced to be removed": done.unreached,
        **({"files of the deleted objects": list(done.files)} if done.files else {}),
        **({} if done.due is None else {"due": dg.MetadataValue.timestamp(done.due)}),
        **({"files of the waiting objects": list(done.waiting_files)} if done.waiting_files else {}),
    }
