"""A sensor that tells Dagster when the branches of a repository moved, whoever moved them.

Each branch is a partition of one asset; its data version is the commit at its head, reported by an observation. The
partitions follow the branches as they come and go. A branch that a pipeline publishes is an asset of its own besides:
runs report their own merges, and a commit from the command line or another program is reported here, so that what
depends on the asset is seen stale.

What was reported stands in Dagster's event log and is asked there; the cursor says only where the listing goes on. A
branch's name is its partition key as it is: the rule for names allows nothing that Dagster minds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from sensors import cursors
from sensors.data_version import DATA_VERSION_TAG, observed_commits, reported_commit

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository
    from graveler_core.model.entities import Branch

PAGE = 1_000
"""Branches looked at in a tick."""


class _Cursor(cursors.Cursor):
    version: Literal[2] = 2
    after: cursors.Place = ""
    """The listing goes on behind this branch; empty: from the start."""


def make_branch_heads_sensor(
    asset: dg.AssetSpec,
    *,
    repository: str,
    published: Mapping[str, dg.AssetKey] | None = None,
    resource_key: str = "graveler",
    interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """A sensor for the branches of one repository.

    A tick reads the records of up to `PAGE` branches, and a commit for each head that was not reported yet.

    Args:
        asset: Stands for all branches; its partitions are a `DynamicPartitionsDefinition`.
        repository: The repository's name. While there is none, there are no branches.
        published: Branches that are assets of their own, which runs materialize: by name.
        resource_key: The resource with a method `graveler()`.
        interval_seconds: Least time between two ticks.
    """
    partitions, own = asset.partitions_def, published or {}
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        raise ValueError(f"asset {asset.key.to_user_string()}: needs dynamic partitions: branches come and go")

    @dg.sensor(
        name=f"{repository}_branches_moved".replace("-", "_"),
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Reports the heads of the branches of {repository}, and which branches there are.",
    )
    def moved(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        from graveler_core.errors import NotFound

        graveler, instance = getattr(context.resources, resource_key).graveler(), context.instance
        after = cursors.read(_Cursor, context.cursor).after
        of, branches = _page(graveler, repository, after)
        last = branches[-1].id if len(branches) == PAGE else ""
        try:
            events = [] if of is None else _events(instance, of, asset.key, own, branches)
        except NotFound:
            return dg.SensorResult(skip_reason=f"{repository} was deleted meanwhile", cursor=context.cursor)
        requests = _in_step(instance, partitions, branches, (after, last))
        quiet = f"{len(branches):,} branches of {repository}, all as known" if of else f"there is no {repository} yet"
        return dg.SensorResult(
            asset_events=events,
            dynamic_partitions_requests=requests,
            cursor=_Cursor(after=last).text(),
            skip_reason=None if events or requests else quiet,
        )

    return moved


def _events(
    instance: dg.DagsterInstance,
    of: Repository,
    every: dg.AssetKey,
    own: Mapping[str, dg.AssetKey],
    branches: list[Branch],
) -> list[Any]:
    """What is to be reported: of all branches to the asset that stands for them, of some to assets of their own."""
    events: list[Any] = [*_observations(instance, of, every, branches)]
    for branch in branches:
        if branch.id in own and reported_commit(instance, own[branch.id]) != branch.commit_id:
            events.append(_materialization(of, own[branch.id], branch))
    return events


def _page(graveler: Graveler, repository: str, after: str) -> tuple[Repository | None, list[Branch]]:
    """A repository and its next branches; none where it does not exist."""
    from graveler_core.errors import NotFound

    try:
        found = graveler.repository(repository)
        return found, list(found.branches(after=after, limit=PAGE))
    except NotFound:
        return None, []


def _observations(
    instance: dg.DagsterInstance, of: Repository, key: dg.AssetKey, branches: Sequence[Branch]
) -> Iterator[dg.AssetObservation]:
    observed = observed_commits(instance, key, [branch.id for branch in branches])
    for branch in branches:
        if observed.get(branch.id) != branch.commit_id:
            yield dg.AssetObservation(key, partition=branch.id, **_of_head(of, branch))


def _materialization(of: Repository, key: dg.AssetKey, branch: Branch) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(key, **_of_head(of, branch))


def _of_head(of: Repository, branch: Branch) -> dict[str, Any]:
    """What an event says of a branch's head."""
    head = of.commit(branch.commit_id)
    uri = f"graveler://{of.id}/{branch.id}"
    return {
        "description": head.message,
        "metadata": {"commit": str(head.id), "committer": head.committer, "dagster/uri": uri},
        "tags": {DATA_VERSION_TAG: str(head.id)},
    }


def _in_step(
    instance: dg.DagsterInstance,
    partitions: dg.DynamicPartitionsDefinition,
    branches: Sequence[Branch],
    between: tuple[str, str],
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """What makes the partitions behind one branch and up to another ("" for all that follow) those that there are."""
    after, last = between
    there = {branch.id for branch in branches}
    known = {key for key in instance.get_dynamic_partitions(partitions.name or "") if after < key <= (last or key)}
    requests: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
    if there - known:
        requests.append(partitions.build_add_request(sorted(there - known)))
    if known - there:
        requests.append(partitions.build_delete_request(sorted(known - there)))
    return requests
