"""`publish_in_order`: definitions of tables of several repositories, which one publish asset merges in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Literal

import dagster as dg

from dagster_graveler.beta import beta_accepted
from dagster_graveler.display.show import Show
from dagster_graveler.publishing.check_metadata import with_branch_metadata
from dagster_graveler.publishing.groups import Publication, TableGroup, register
from dagster_graveler.publishing.kept_branches import make_kept_branches_sensor
from dagster_graveler.publishing.ops import commit_op, deletion_hook, publish_op
from dagster_graveler.publishing.publisher import MergeTarget, Publisher
from dagster_graveler.publishing.tables import checked_tables, refuse_differences, refuse_equal_names


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishTarget:
    """Tables of one repository that are published into one branch, and their checks.

    Attributes:
        key: Key of the asset of the published branch. Assets that read published data depend on it.
        tables: Assets that an IO manager of this package stores on the branch of the run.
        checks: Checks of the tables.
        branch: Key of the resource `GravelerBranch`, which names the repository and the branch to publish into.
        show: Function that returns metadata about the published state, to be shown in Dagster.
    """

    key: dg.AssetKey | str | Sequence[str]
    tables: Sequence[dg.AssetsDefinition]
    checks: Sequence[dg.AssetChecksDefinition] = ()
    branch: str = "branch"
    show: Show | None = None


def publish_in_order(  # noqa: PLR0913 - one call, most of it optional
    *,
    targets: Sequence[PublishTarget],
    key: dg.AssetKey | str | Sequence[str] | None = None,
    publish: Literal["group", "asset"] = "group",
    warn: Literal["refuse", "allow"] = "refuse",
    require: bool = False,
    pool: str | None = None,
    job: str | None = None,
    executor_def: dg.ExecutorDefinition | None = None,
    keep_for: timedelta = timedelta(days=30),
    interval_seconds: int = 60,
) -> dg.Definitions:
    """Return definitions that publish tables of several repositories after their checks, in the order of the targets.

    Nothing is merged unless the verdict of every target is good. Then one step merges target by target. Each merge is
    atomic, but readers may see one target with the new data and the next with the old one. If a merge fails, the
    earlier ones stay, and a retry or a re-execution from failure continues with the target of the failed merge.

    Args:
        targets: The targets, in the order in which they are merged. Their tables have equal partitions and backfill
            policies, and their repositories have different names.
        key: Key of the publication. The publish asset is `KEY/publish`. A single target does not need one.
        publish: As for `write_audit_publish`, like all further arguments. They hold for all targets.
        warn: `refuse` keeps the branches if a blocking check fails with severity WARN; `allow` publishes them.
        require: Require the blocking checks of everything that is merged into the branches.
        pool: Concurrency pool of the merges. By default it is named after `key`.
        job: Name of the job that writes, checks and publishes all tables. By default it is named after `key`.
        executor_def: Executor of the job.
        keep_for: Time after the last run for which a reported branch is kept.
        interval_seconds: Minimum time between two ticks of a sensor.

    Returns:
        The tables, their checks, the publish asset, the published branches, the job, and a sensor over the kept
        branches of each target.

    Raises:
        DagsterInvalidDefinitionError: There is no target, or the key is missing, or two targets have equal keys or
            branch resources, or their tables cannot be published together.
    """
    publisher = _publisher(targets, key, pool, partial(TableGroup, publish=publish, warn=warn, require=require))
    publication = publisher.publication
    tables = [table for target in targets for table in target.tables]
    whole = dg.define_asset_job(
        job or f"{publisher.slug}__job",
        selection=dg.AssetSelection.assets(*publication.keys),
        executor_def=executor_def,
        description="Write all tables on an isolated branch, check them, and publish them. If a check fails, the "
        "published branch does not change and the written one is kept.",
    )
    register(publication)
    return dg.Definitions(
        assets=[
            *(*tables, _publish_asset(publisher, tables)),
            *(_published_branch(one.group, each.tables) for one, each in zip(publisher.targets, targets, strict=True)),
        ],
        asset_checks=[
            with_branch_metadata(check, target.branch, {table.key: table.path for table in made.group.tables})
            for made, target in zip(publisher.targets, targets, strict=True)
            for check in target.checks
        ],
        jobs=[whole],
        sensors=[
            make_kept_branches_sensor(
                publisher, target, job=whole, keep_for=keep_for, interval_seconds=interval_seconds
            )
            for target in publisher.targets
        ],
    )


def _publisher(
    targets: Sequence[PublishTarget],
    key: dg.AssetKey | str | Sequence[str] | None,
    pool: str | None,
    make_group: Callable[..., TableGroup],
) -> Publisher:
    """Return the parts of the publish asset."""
    keys = [dg.AssetKey.from_coercible(target.key) for target in targets]
    _refuse_unclear(targets, keys, key)
    publication_key = keys[0] if key is None else dg.AssetKey.from_coercible(key)
    member_of = publication_key if len(targets) > 1 else None
    tables = [table for target in targets for table in target.tables]
    refuse_equal_names(dict.fromkeys((publication_key, *keys)), publication_key)
    refuse_equal_names((own for table in tables for own in table.keys), publication_key)
    refuse_differences(tables, publication_key)
    made = tuple(
        MergeTarget(
            make_group(own, checked_tables(each.tables, each.checks, own), member_of=member_of),
            each.branch,
            each.show,
        )
        for own, each in zip(keys, targets, strict=True)
    )
    publication = Publication(publication_key, tuple(target.group for target in made))
    return Publisher(publication, made, pool or f"graveler/{'/'.join(publication_key.path)}")


def _refuse_unclear(
    targets: Sequence[PublishTarget], keys: Sequence[dg.AssetKey], key: dg.AssetKey | str | Sequence[str] | None
) -> None:
    if not targets:
        raise dg.DagsterInvalidDefinitionError("publish_in_order: targets must not be empty")
    if len(targets) == 1:
        if key is not None and dg.AssetKey.from_coercible(key) != keys[0]:
            raise dg.DagsterInvalidDefinitionError(
                "publish_in_order: with a single target, key must be omitted or equal to the key of the target"
            )
        return
    if key is None:
        raise dg.DagsterInvalidDefinitionError("publish_in_order: several targets need a key for their publication")
    names = [one.to_user_string() for one in (dg.AssetKey.from_coercible(key), *keys)]
    branches = [target.branch for target in targets]
    for what, given in {"key": names, "branch resource": branches}.items():
        if twice := sorted({one for one in given if given.count(one) > 1}):
            raise dg.DagsterInvalidDefinitionError(
                f"publish_in_order: each target must have a {what} of its own, and so must the publication; "
                f"{twice[0]!r} is given twice"
            )


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
            keys_by_output_name={"result": publisher.publication.publish_key},
            partitions_def=first.partitions_def,
            backfill_policy=first.backfill_policy,
            group_name=_group_name(tables),
            descriptions_by_output_name={
                "result": "Publication of the tables of a run: their branch is committed, and merged if all blocking "
                "checks of changed tables passed. Otherwise it is kept."
            },
        )


def _published_branch(group: TableGroup, tables: Sequence[dg.AssetsDefinition]) -> dg.AssetSpec:
    return dg.AssetSpec(
        group.key,
        deps=[group.publish_key],
        group_name=_group_name(tables),
        description="Published branch. The data version is the commit at its head.",
    )


def _group_name(tables: Sequence[dg.AssetsDefinition]) -> str:
    return next(iter(tables[0].group_names_by_key.values()))
