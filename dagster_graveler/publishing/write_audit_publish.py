"""`write_audit_publish`: definitions of tables that are written on a branch, checked there, and then published."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Literal

import dagster as dg

from dagster_graveler.beta import beta_accepted
from dagster_graveler.display.show import Show
from dagster_graveler.publishing.groups import GroupTable, TableGroup, register
from dagster_graveler.publishing.kept_branches import make_kept_branches_sensor
from dagster_graveler.publishing.ops import Publisher, commit_op, deletion_hook, publish_op

PATH = "graveler/path"
"""Definition metadata of a table: its path in the repository, if that is not the asset key joined by slashes."""
_NAME_LENGTH = 255


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
    changed table has passed after the last write of the table. The verdict is taken from Dagster's event log at the
    merge, so that it does not depend on the selection of the run.

    Args:
        tables: Assets that an IO manager of this package stores on the branch of the run.
        checks: Checks of the tables. Blocking ones decide about the publication.
        key: Key of the asset of the published branch. It has no partitions, and each publication materializes it with
            the commit as data version. Assets that read what is published depend on it.
        branch: Key of the resource `GravelerBranch`, which names the repository and the branch to publish into.
        publish: `group` publishes when all tables have been written, or when the publish asset is run explicitly;
            `asset` also publishes single tables.
        warn: `refuse` keeps the branch if a blocking check fails with severity WARN; `allow` publishes it.
        require: Require the blocking checks of everything that is merged into the branch, by any program.
        pool: Concurrency pool of the merge. By default it is named after the published branch.
        job: Name of the job that writes, checks and publishes all tables. By default it is named after `key`.
        executor_def: Executor of the job.
        show: Function that returns metadata to show of the published state. If it fails, the metadata say so. The
            publication does not fail.
        keep_for: Time after the last run for which the sensor keeps a branch that it has reported.
        interval_seconds: Minimum time between two ticks of the sensor.

    Returns:
        The tables, their checks, the publish asset, the published branch, the job, and the sensor over kept branches.

    Raises:
        DagsterInvalidDefinitionError: the tables have different partitions or backfill policies, or lie in one
            another, or a check belongs to no table.
    """
    asset_key = dg.AssetKey.from_coercible(key)
    group = TableGroup(asset_key, _tables(tables, checks, asset_key), publish, warn, require)
    publisher = Publisher(group, branch, pool or f"graveler/{'/'.join(asset_key.path)}", show)
    asset = _publish_asset(publisher, tables)
    published = dg.AssetSpec(
        asset_key,
        deps=[group.publish_key],
        group_name=next(iter(tables[0].group_names_by_key.values())),
        description="Published branch. The data version is the commit at its head.",
    )
    whole = dg.define_asset_job(
        job or f"{publisher.slug}__job",
        selection=dg.AssetSelection.assets(*group.keys),
        executor_def=executor_def,
        description="Write all tables on an isolated branch, check them, and publish them. If a check fails, the "
        "published branch does not change and the written one is kept.",
    )
    register(group)
    sensor = make_kept_branches_sensor(
        group, job=whole, branch_key=branch, keep_for=keep_for, interval_seconds=interval_seconds
    )
    return dg.Definitions(assets=[*tables, asset, published], asset_checks=list(checks), jobs=[whole], sensors=[sensor])


def _publish_asset(publisher: Publisher, tables: Sequence[dg.AssetsDefinition]) -> dg.AssetsDefinition:
    commit, publish, hook = commit_op(publisher), publish_op(publisher), deletion_hook(publisher)

    @dg.graph(name=publisher.slug, ins={name: dg.GraphIn() for name in publisher.inputs})
    def graph(**written):  # type: ignore[no-untyped-def]
        return publish.alias("publish").with_hooks({hook})(commit.alias("commit")(**written))

    first = tables[0]
    with beta_accepted():
        return dg.AssetsDefinition.from_graph(
            graph,
            keys_by_input_name=publisher.inputs,
            keys_by_output_name={"result": publisher.group.publish_key},
            partitions_def=first.partitions_def,
            backfill_policy=first.backfill_policy,
            group_name=next(iter(first.group_names_by_key.values())),
            descriptions_by_output_name={
                "result": "Publication of the tables of a run: their branch is "
                "committed, and merged if all blocking checks of changed tables passed. Otherwise it is kept."
            },
        )


def _tables(
    tables: Sequence[dg.AssetsDefinition], checks: Sequence[dg.AssetChecksDefinition], key: dg.AssetKey
) -> tuple[GroupTable, ...]:
    """Return the tables with their blocking checks."""
    if not tables:
        raise dg.DagsterInvalidDefinitionError(f"{key.to_user_string()}: tables must not be empty")
    _refuse_differences(tables, key)
    specs = [spec for table in tables for spec in table.specs]
    found = [spec for each in (*tables, *checks) for spec in each.check_specs]
    blocking: dict[dg.AssetKey, list[str]] = {spec.key: [] for spec in specs}
    for check in found:
        if check.asset_key not in blocking:
            raise dg.DagsterInvalidDefinitionError(
                f"check {check.name} of {check.asset_key.to_user_string()}: this asset is none of the tables of "
                f"{key.to_user_string()}"
            )
        if check.blocking:
            blocking[check.asset_key].append(check.name)
    made = tuple(
        GroupTable(
            spec.key, str(spec.metadata.get(PATH, "/".join(spec.key.path))).strip("/"), tuple(blocking[spec.key])
        )
        for spec in specs
    )
    _refuse_nested(made, key)
    return made


def _refuse_differences(tables: Sequence[dg.AssetsDefinition], key: dg.AssetKey) -> None:
    first = tables[0]
    for table in tables[1:]:
        pairs = {
            "partitions definitions": (first.partitions_def, table.partitions_def),
            "backfill policies": (first.backfill_policy, table.backfill_policy),
        }
        for what, (one, other) in pairs.items():
            if one != other:
                names = [each.to_user_string() for each in (*first.keys, *table.keys)]
                raise dg.DagsterInvalidDefinitionError(
                    f"{key.to_user_string()}: its tables must have equal {what}, so that one run covers all of them; "
                    f"different ones: {names[0]} has {one}, {names[-1]} has {other}"
                )


def _refuse_nested(tables: Iterable[GroupTable], key: dg.AssetKey) -> None:
    before: GroupTable | None = None
    for table in sorted(tables, key=lambda each: f"{each.path}/"):
        if before is not None and f"{table.path}/".startswith(f"{before.path}/"):
            raise dg.DagsterInvalidDefinitionError(
                f"{key.to_user_string()}: table {table.name} at path {table.path!r} lies in table {before.name} at "
                f"path {before.path!r}"
            )
        before = table
        for check in table.checks:
            if len(table.check_name(check)) > _NAME_LENGTH:
                raise dg.DagsterInvalidDefinitionError(
                    f"check name {table.check_name(check)!r}: must have at most {_NAME_LENGTH} characters"
                )
