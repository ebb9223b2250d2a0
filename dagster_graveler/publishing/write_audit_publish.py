"""`write_audit_publish`: definitions of tables that are written on a branch, checked there, and then published."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import dagster as dg

from dagster_graveler.display.show import Show
from dagster_graveler.publishing.publish_in_order import PublishTarget, publish_in_order


def write_audit_publish(  # noqa: PLR0913 - one call, most of it optional
    *,
    tables: Sequence[dg.AssetsDefinition],
    checks: Sequence[dg.AssetChecksDefinition] = (),
    key: dg.AssetKey | str | Sequence[str],
    branch: str = "branch",
    publish: Literal["group", "asset"] = "group",
    warn: Literal["refuse", "allow"] = "refuse",
    require: bool = False,
    pool: str | None = None,
    job: str | None = None,
    executor_def: dg.ExecutorDefinition | None = None,
    show: Show | None = None,
    keep_for: timedelta = timedelta(days=30),
    interval_seconds: int = 60,
) -> dg.Definitions:
    """Return definitions that publish tables together, after their checks.

    The publish asset `KEY/publish` commits the branch of the run and merges it, if every blocking check of every
    changed table was accepted after the last write of the table. The verdict is based on Dagster's event log at the
    time of the merge, so that it does not depend on the selection of the run.

    Args:
        tables: Assets that an IO manager of this package stores on the branch of the run.
        checks: Checks of the tables. Blocking ones decide about the publication.
        key: Key of the asset of the published branch. It has no partitions, and each publication materializes it with
            the commit as data version. Assets that read published data depend on it.
        branch: Key of the resource `GravelerBranch`, which names the repository and the branch to publish into.
        publish: `group` publishes when all tables have been written, or when the publish asset is run explicitly;
            `asset` also publishes single tables.
        warn: `refuse` keeps the branch if a blocking check fails with severity WARN; `allow` publishes it.
        require: Require the blocking checks of everything that is merged into the branch, by any program.
        pool: Concurrency pool of the merge. By default it is named after the published branch.
        job: Name of the job that writes, checks and publishes all tables. By default it is named after `key`.
        executor_def: Executor of the job.
        show: Function that returns metadata about the published state, to be shown in Dagster. If it fails, the
            metadata contain the error, and the publication does not fail.
        keep_for: Time after the last run for which the sensor keeps a branch that it has reported.
        interval_seconds: Minimum time between two ticks of the sensor.

    Returns:
        The tables, their checks, the publish asset, the published branch, the job, and the sensor over kept branches.

    Raises:
        DagsterInvalidDefinitionError: The tables have different partitions or backfill policies, or lie in one
            another, or a check belongs to no table.
    """
    target = PublishTarget(key=key, tables=tables, checks=checks, branch=branch, show=show)
    return publish_in_order(
        targets=[target],
        publish=publish,
        warn=warn,
        require=require,
        pool=pool,
        job=job,
        executor_def=executor_def,
        keep_for=keep_for,
        interval_seconds=interval_seconds,
    )
