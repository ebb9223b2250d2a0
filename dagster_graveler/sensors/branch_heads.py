"""Sensor that reports to Dagster when branches of a repository move, independent of who moved them.

Each branch is a partition of one asset. Its data version is the head commit, reported by an observation. Partitions are
added and removed with the branches. A branch that a pipeline publishes also has an asset of its own. Runs report their
own merges. A commit from the command line or another program is reported here, so that assets which depend on it become
stale.

Reported commits are read from Dagster's event log. The cursor only says where the listing continues. The name of a
branch is its partition key; the rules for branch names allow no character that Dagster refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from logging import Logger
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from dagster_graveler.data_version import DATA_VERSION_TAG, observed_commits, published_commit, reported_commit
from dagster_graveler.display.diff import summarise
from dagster_graveler.display.show import Show, shown_metadata
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.skipping import skipped
from dagster_graveler.sensors.tick_time import TickTime
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.errors import CorruptData
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository
    from graveler_core.model.entities import BranchRecord
PAGE = 1_000
"""Number of branches that a tick examines."""
_SHOW_SECONDS = 20.0
"""Time that a function `show` may take. With that of the rest of the tick it is less than a minute."""


class _Cursor(cursors.Cursor):
    version: Literal[2] = 2
    after: cursors.Place = ""
    """Last listed branch; empty for the start."""


@dataclass(frozen=True)
class _Assets:
    """Assets to which the sensor reports."""

    all_branches: dg.AssetKey
    partitions: dg.DynamicPartitionsDefinition
    """Partitions of the asset of all branches."""
    published: Mapping[str, dg.AssetKey]
    """Assets of branches that runs materialize, by branch name."""
    show: Show | None
    """Function that returns metadata about a published branch, to be shown in Dagster."""


def make_branch_heads_sensor(  # noqa: PLR0913 - one call, most of it optional
    asset: dg.AssetSpec,
    *,
    repository: str,
    published: Mapping[str, dg.AssetKey] | None = None,
    show: Show | None = None,
    resource_key: str = "graveler",
    interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """Return a sensor for the branches of one repository.

    A tick reads the records of up to `PAGE` branches, and a commit for each head that was not reported yet. After half
    a minute it leaves the rest to the next tick.

    Args:
        asset: Asset of all branches; its partitions are a `DynamicPartitionsDefinition`.
        repository: Name of the repository. A repository that does not exist has no branches.
        published: Assets of branches that runs materialize, by branch name.
        show: Function that returns metadata about a published branch, as for `write_audit_publish`. If it
            fails, or takes longer than 20 seconds, the report contains the error instead of these metadata.
        resource_key: Key of a resource with a method `graveler()`.
        interval_seconds: Minimum time between two ticks.

    Returns:
        The sensor `<repository>_branches_moved`. In its name, each `-` of the repository name is replaced by `_`.

    Raises:
        ValueError: The asset has no dynamic partitions.
    """
    partitions, own = asset.partitions_def, published or {}
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        raise ValueError(f"asset {asset.key.to_user_string()}: needs dynamic partitions, one for each branch")

    @dg.sensor(
        name=f"{repository}_branches_moved".replace("-", "_"),
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Reports new, moved and deleted branches of repository {repository} to Dagster.",
    )
    def moved(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        return _tick(context, graveler, repository, _Assets(asset.key, partitions, own, show))

    return moved


def _tick(context: dg.SensorEvaluationContext, graveler: Graveler, repository: str, assets: _Assets) -> dg.SensorResult:
    """Report the next `PAGE` branches."""
    from graveler_core.errors import NotFound

    after = cursors.read(_Cursor, context.cursor).after
    known = _reported(context.instance, assets)  # before the heads are read, which are therefore not older
    damaged = set[str]()
    of, branches = _page(graveler, repository, after, skipped(context.log, damaged))
    is_page = len(branches) == PAGE
    try:
        events, reached = ([], len(branches)) if of is None else _events(context, graveler, of, assets, branches)
    except NotFound:
        return dg.SensorResult(
            skip_reason=f"repository {repository} was deleted during the tick", cursor=context.cursor
        )
    events = _not_overtaken(events, known, _reported(context.instance, assets))
    is_page, branches = is_page or reached < len(branches), branches[:reached]
    last = branches[-1].id if is_page else ""
    requests = _in_step(context.instance, assets.partitions, branches, damaged, (after, last))
    quiet = (
        f"none of {counted(len(branches), 'branch')} of {repository} has changed"
        if of
        else f"repository {repository} does not exist yet"
    )
    return dg.SensorResult(
        asset_events=events,
        dynamic_partitions_requests=requests,
        cursor=_Cursor(after=last).text(),
        skip_reason=None if events or requests else quiet,
    )


def _reported(instance: dg.DagsterInstance, assets: _Assets) -> dict[dg.AssetKey, str | None]:
    """Return the commits last reported for the assets of published branches."""
    return {key: reported_commit(instance, key) for key in assets.published.values()}


def _not_overtaken(
    events: list[Any], before: Mapping[dg.AssetKey, str | None], now: Mapping[dg.AssetKey, str | None]
) -> list[Any]:
    """Return the events, without materializations of branches that a run has reported during the tick.

    The tick may have read an earlier head than the run. The next tick compares the reported commit with the head again.
    """
    return [
        event
        for event in events
        if not isinstance(event, dg.AssetMaterialization) or before[event.asset_key] == now[event.asset_key]
    ]


def _events(
    context: dg.SensorEvaluationContext,
    graveler: Graveler,
    of: Repository,
    assets: _Assets,
    branches: Sequence[BranchRecord],
) -> tuple[list[Any], int]:
    """Return the events to report, and the number of branches that were looked at before the time was over.

    They are for the asset of all branches, and for the assets of published branches. A branch whose commit cannot be
    read is left out, so that the others are reported.
    """
    from graveler_core.errors import GravelerError, NotFound

    observed = observed_commits(context.instance, assets.all_branches, [branch.id for branch in branches])
    events: list[Any] = []
    time = TickTime()
    for number, branch in enumerate(branches):
        if number and time.is_over:
            return events, number
        try:
            events += _of_branch(context, of, assets, branch, observed.get(branch.id))
        except GravelerError as error:
            if isinstance(error, NotFound) and not _exists(graveler, of):
                raise
            context.log.warning(f"branch {branch.id} of repository {of.id} is not reported: {error}")
    return events, len(branches)


def _of_branch(
    context: dg.SensorEvaluationContext, of: Repository, assets: _Assets, branch: BranchRecord, observed: str | None
) -> list[Any]:
    """Return the events to report about a branch whose commit `observed` was reported last."""
    instance, key = context.instance, assets.published.get(branch.id)
    events: list[Any] = []
    if observed != branch.commit_id:
        events.append(dg.AssetObservation(assets.all_branches, partition=branch.id, **_of_head(of, branch)))
    if key is not None and reported_commit(instance, key) != branch.commit_id:
        shown = shown_metadata(assets.show, of.at(branch.commit_id), context.log, _SHOW_SECONDS)
        changes = _changes(context.log, of, published_commit(instance, key, of), branch)
        events.append(_materialization(of, key, branch, {**changes, **shown}))
    return events


def _page(
    graveler: Graveler, repository: str, after: str, damaged: Callable[[CorruptData], None]
) -> tuple[Repository | None, list[BranchRecord]]:
    """Return a repository and its next branches; `None` if the repository does not exist."""
    from graveler_core.errors import NotFound

    try:
        found = graveler.repository(repository)
        return found, list(islice(found.branches(after=after, damaged=damaged), PAGE))
    except NotFound:
        return None, []


def _exists(graveler: Graveler, of: Repository) -> bool:
    """Return true if a repository was not deleted, nor deleted and created anew."""
    from graveler_core.errors import NotFound

    try:
        return graveler.repository(of.id).uid == of.uid
    except NotFound:
        return False


def _changes(log: Logger, of: Repository, before: str | None, branch: BranchRecord) -> dict[str, Any]:
    """Return metadata about the changes since the commit of the previous report, which may be damaged."""
    from graveler_core.errors import CorruptData, NotFound

    if before is None:
        return {}
    try:
        return summarise(of.diff(before, branch.commit_id)).metadata()
    except (CorruptData, NotFound) as damage:
        log.warning(f"the changes of branch {branch.id} of repository {of.id} are not shown: {damage}")
        return {"diff summary": f"There is no summary: {damage}"}


def _materialization(
    of: Repository, key: dg.AssetKey, branch: BranchRecord, shown: Mapping[str, Any]
) -> dg.AssetMaterialization:
    """Return the report of a published branch.

    Args:
        of: The repository.
        key: Asset of the published branch.
        branch: The branch.
        shown: Metadata about the changes since the previous report, and those of the function `show`.
    """
    event = _of_head(of, branch)
    return dg.AssetMaterialization(key, metadata={**event.pop("metadata"), **shown}, **event)


def _of_head(of: Repository, branch: BranchRecord) -> dict[str, Any]:
    """Return the content of an event about the head of a branch."""
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
    branches: Sequence[BranchRecord],
    damaged: Set[str],
    between: tuple[str, str],
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """Return the requests that make the partitions after one branch and up to another ("" for the end) equal to the
    branches. Partitions of branches whose records are damaged stay.
    """
    after, last = between
    there = {branch.id for branch in branches}
    known = {key for key in instance.get_dynamic_partitions(partitions.name or "") if after < key <= (last or key)}
    requests: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
    if there - known:
        requests.append(partitions.build_add_request(sorted(there - known)))
    if gone := known - there - damaged:
        requests.append(partitions.build_delete_request(sorted(gone)))
    return requests
