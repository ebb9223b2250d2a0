"""Migrate a repository of lakeFS, or what is new in it since the last run. Idempotent: a repetition completes an
interrupted run, and changes nothing after a complete one.
"""

import time
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.ops.progress import logged_progress
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.transfer.lakefs.report import LakefsMigrated

OP = "migrate_lakefs"
_SHOWN = 100
"""Number of differences that a failed run shows."""


class LakefsMigrationConfig(dg.Config):
    """Configuration of a migration: arguments of `Graveler.migrate_lakefs`."""

    repository: str
    """Name of the repository in graveler."""
    source: str
    """URI of the storage namespace in lakeFS, or the URL of a running server. Pass a URL with a secret in an
    environment variable: `{"env": "LAKEFS"}`.
    """
    storage_namespace: str
    """URI of the directory into which graveler writes."""
    objects: str = ""
    """URI of the storage namespace in lakeFS as graveler reaches it, if it differs from what the server states."""
    manifest: str = ""
    """URI of the output of `lakectl refs-dump`. Default: the one in the storage namespace."""
    default_branch: str = ""
    uncommitted: bool = False
    adopt: bool = False
    """Take over a storage namespace that holds objects of another repository."""
    verify: bool = False
    """Compare all content with lakeFS after the migration. The op fails if there is a difference."""


@dg.op(
    name=OP,
    description="Migrate a repository of lakeFS, or bring what is new in it. No object is copied.",
    out=dg.Out(dg.Nothing),
    retry_policy=RETRIES,
)
def migrate_lakefs(context: dg.OpExecutionContext, config: LakefsMigrationConfig, graveler: GravelerResource) -> None:
    """Migrate a repository of lakeFS."""
    from graveler_core.telemetry.secrets import without_password

    start, opened = time.monotonic(), graveler.graveler()
    place: dict[str, Any] = {"objects": config.objects or None, "manifest": config.manifest or None}
    with told_to_dagster(context.retry_number):
        done = opened.migrate_lakefs(
            config.repository,
            config.source,
            config.storage_namespace,
            default_branch=config.default_branch or None,
            uncommitted=config.uncommitted,
            adopt=config.adopt,
            progress=logged_progress(context, "commits written"),
            **place,
        )
        found = [*opened.verify_lakefs(config.repository, config.source, **place)] if config.verify else []
    if found:
        raise dg.Failure(
            f"{counted(len(found), 'difference')} from lakeFS",
            metadata={"differences": dg.MetadataValue.json([str(each) for each in found[:_SHOWN]])},
            allow_retries=False,
        )
    context.add_output_metadata(
        {
            "source": without_password(config.source),
            "dagster/uri": f"graveler://{config.repository}",
            **_told(done),
            "verified": config.verify,
            "seconds": time.monotonic() - start,
            **retries(context),
        }
    )


def _told(done: "LakefsMigrated") -> dict[str, Any]:
    changed = {
        f"{what} {how}": dg.MetadataValue.json([*getattr(names, how)])
        for what, names in (("branches", done.branches), ("tags", done.tags))
        for how in ("created", "moved", "kept")
    }
    return {"commits": done.commits, "earlier commits": done.earlier_commits, "staged": done.staged, **changed}
